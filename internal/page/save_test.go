package page

import (
	"bytes"
	"context"
	"image"
	"slices"
	"testing"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"

	"github.com/stretchr/testify/require"
)

// A file has the masks of the result with what a person drew on them, in every format that its
// picture allows.
func TestSave(t *testing.T) {
	w := here(t, card)
	w.platform.Device = "reference"
	h := New(t.Context(), w.platform)
	defer h.closeDevice()
	job := w.job(1, "brain")
	job.Options.ROI, job.Options.Recurrences = "none", 1
	r, err := h.Segment(job)
	require.NoError(t, err)
	require.Equal(t, []string{"png", "png-mask", "tiff", "tiff-mask", "nifti", "nifti-mask", "svg", "geojson", "npy", "tiff-float"}, r.Formats())

	for reader, by := range []string{"consensus", "guess of " + r.Raters[0], "guess of " + r.Raters[1]} {
		data, err := h.Save(1, File{Format: "tiff", Reader: reader, I: 1, Classes: []int{0}})
		require.NoError(t, err)
		require.Contains(t, string(data), "probability of "+r.Classes[0]+", "+by)
		values := r.Recurrence(1, 0)
		if reader > 0 {
			values = r.Rater(reader-1, 0)
		}
		want, err := masks.Structures(r.Width, r.Height, r.Classes, [][]float32{values})
		require.NoError(t, err)
		read, err := imageio.Decode("a", data)
		require.NoError(t, err)
		for k, v := range want[0].Levels {
			require.Equal(t, v, read.Pix[3*k], "%s, pixel %d", by, k)
		}
	}

	drawn := bytes.Repeat([]byte{segment.Unsaid}, r.Width*r.Height)
	drawn[0], drawn[1] = 0, 255
	for _, name := range []string{"png", "png-mask", "tiff-mask", "nifti"} {
		for i := range 2 {
			want, err := masks.Structures(r.Width, r.Height, r.Classes, [][]float32{r.Recurrence(i, 0)})
			require.NoError(t, err)
			for _, marks := range [][]Drawing{nil, {{Class: 0, Mask: drawn}}} {
				data, err := h.Save(1, File{Format: name, I: i, Classes: []int{0}, Drawn: marks})
				require.NoError(t, err)
				if marks != nil {
					want[0].Levels[0], want[0].Levels[1] = 0, 255
				}
				read, err := imageio.Decode("a", data)
				require.NoError(t, err)
				pixel := func(k int) uint8 { return read.Pix[3*k] }
				if name == "nifti" {
					volume, err := nifti.Read(data, int64(len(drawn)))
					require.NoError(t, err)
					pixel = func(k int) uint8 { return uint8(255*volume.Values[k] + .5) }
				}
				for k, v := range want[0].Levels {
					if name == "png-mask" || name == "tiff-mask" {
						v = v >> 7 * 255
					}
					require.Equal(t, v, pixel(k), "%s, Rec%d, pixel %d", name, i, k)
				}
				if name == "png" {
					require.Equal(t, marks != nil, bytes.Contains(data, []byte("corrected by hand")))
				}
			}
		}
	}
	for want, wrong := range map[string]File{
		`no format is named "bmp"`: {Format: "bmp"}, "class is not a number from 0 to 0": {Format: "png", Classes: []int{1}},
		"reader is not a number from 0 to 5": {Format: "png", Reader: 6}, "the brain has no outlines": {Format: "png", Reader: 4, Classes: []int{0}}, "i is not a number from 0 to 1": {Format: "png", Classes: []int{0}, I: 2}, "this is none; save the masks as NIfTI or TIFF": {Format: "dicom-seg", Classes: []int{0}},
		"has 3 pixels, and its map 12": {Format: "png", Classes: []int{0}, Drawn: []Drawing{{Mask: make([]byte, 3)}}},
	} {
		_, err := h.Save(1, wrong)
		require.ErrorContains(t, err, want)
	}
	_, err = h.Save(2, File{Format: "png"})
	require.Equal(t, "gone", FaultOf(err).Code)
	_, err = h.Clinical(2, segment.Known{}, nil)
	require.Equal(t, "gone", FaultOf(err).Code)
	for want, drawn := range map[string]Drawing{"has 3 pixels, and its mask 12": {Mask: make([]byte, 3)}, "class is not a number from 0 to 0": {Class: 1}} {
		_, err = h.Clinical(1, segment.Known{}, []Drawing{drawn})
		require.ErrorContains(t, err, want)
	}
	_, err = h.Clinical(1, segment.Known{Eye: "both"}, nil)
	require.ErrorContains(t, err, `"both"`)
}

// Of a DICOM image figures, what the user sees and a PDF are saved as DICOM. A person who
// corrected or accepted is an observer of the figures.
func TestSaveDICOM(t *testing.T) {
	w := here(t, card)
	w.platform.Device = "reference"
	h := New(t.Context(), w.platform)
	defer h.closeDevice()
	job := w.job(1, "brain")
	job.Key, job.Name, job.Options.ROI = 7, "a.dcm", "none"
	job.Read = func() []byte { return dicomtest.Slice(4, 3, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 0, nil) }
	r, err := h.Segment(job)
	require.NoError(t, err)
	require.Subset(t, r.Formats(), []string{"dicom-seg", "dicom-sr", "dicom-sc"})
	save := func(f File) string {
		t.Helper()
		data, err := h.Save(1, f)
		require.NoError(t, err)
		return string(data)
	}
	inside := bytes.Repeat([]byte{255}, 12)
	corrected := File{Format: "dicom-sr", Classes: []int{0}, Drawn: []Drawing{{Class: 0, Mask: inside}}}
	require.Contains(t, save(corrected), "7.68", "12 pixels of 0.64 mm²")
	require.Contains(t, save(corrected), "Corrected by hand.")
	require.Contains(t, save(corrected), "Person Observer Name")
	require.NotContains(t, save(File{Format: "dicom-sr", Classes: []int{0}}), "Person Observer Name")
	require.Contains(t, save(File{Format: "dicom-sr", Classes: []int{0}, Person: "Doe^Jane"}), "Person Observer Name")
	shown := &imageio.Image{W: 2, H: 1, Pix: []uint8{1, 2, 3, 4, 5, 6}}
	read, err := imageio.Decode("a.dcm", []byte(save(File{Format: "dicom-sc", Classes: []int{0}, Shown: shown})))
	require.NoError(t, err)
	require.Equal(t, shown.Pix, read.Pix[:6])
	require.Contains(t, save(File{Format: "dicom-pdf", PDF: []byte("%PDF-1.7 a")}), "%PDF-1.7 a")
	for want, wrong := range map[string]File{
		`the eye is "both"`: {Format: "dicom-sr", Eye: "both"}, "has 3 pixels, and its mask 12": {Format: "dicom-sr", Drawn: []Drawing{{Mask: make([]byte, 3)}}},
		"no longer in memory; save its outlines as SVG": {Format: "dicom-sc", Classes: []int{0}}, "the report is no PDF": {Format: "dicom-pdf"},
	} {
		_, err := h.Save(1, wrong)
		require.ErrorContains(t, err, want)
	}
}

// Of a DICOM image there is a DICOM SEG, or a sentence that names all that the file lacks for one.
func TestLacks(t *testing.T) {
	for want, lacks := range map[string][]uint32{
		"": nil,
		"the file has no valid Study Instance UID (0020,000D), by which a DICOM SEG refers to it; save the masks as NIfTI or TIFF":                             {dicomtest.Study},
		"the file has no valid SOP Class UID (0008,0016), Series Instance UID (0020,000E), by which a DICOM SEG refers to it; save the masks as NIfTI or TIFF": {dicomtest.Class, dicomtest.Series},
	} {
		m, err := imageio.Decode("a.dcm", dicomtest.Grey(4, 3, make([]uint8, 12), lacks...))
		require.NoError(t, err)
		r := Segmented{Result: &segment.Result{Maps: segment.Maps{Picture: *m}}}
		require.Equal(t, want, r.Lacks())
		require.Equal(t, lacks == nil, slices.Contains(r.Formats(), "dicom-seg"))
	}
	require.Empty(t, (&Segmented{Result: &segment.Result{}}).Lacks(), "not of other images")
}

// What a person drew on a turned image is put on the mask as the file lies.
func TestCorrected(t *testing.T) {
	mask := imageio.EncodeGrey(3, 2, image.Rectangle{}, []uint8{0, 0, 255, 0, 255, 255}, "")
	for turn := range 4 {
		drawn := imageio.Turn([]uint8{255, segment.Unsaid, 0, segment.Unsaid, segment.Unsaid, 255}, 3, 2, 1, turn)
		data, err := Corrected(mask, drawn, turn)
		require.NoError(t, err)
		require.Contains(t, string(data), "corrected by hand")
		m, err := imageio.Decode("a", data)
		require.NoError(t, err)
		require.Equal(t, []int{3, 2}, []int{m.W, m.H})
		for i, want := range []uint8{255, 0, 0, 0, 255, 255} {
			require.Equal(t, want, m.Pix[3*i], "turned by %d, pixel %d", turn, i)
		}
	}
	_, err := Corrected(mask, make([]uint8, 5), 0)
	require.ErrorContains(t, err, "the correction has 5 pixels, and its mask 6")
	_, err = Corrected([]byte("no PNG"), nil, 0)
	require.Error(t, err)
}

// How figures repeat is asked about a result, of its picture and with its passes.
func TestRepeat(t *testing.T) {
	w := here(t, card).start()
	var passes []int
	w.segment = func(_ context.Context, _ *fakeDevice, o segment.Options) error {
		passes = append(passes, o.Recurrences)
		return nil
	}
	r, err := w.Segment(w.job(1, "brain"))
	require.NoError(t, err)
	r.Recurrences = 2
	made, err := w.Repeat(w.job(2, "brain"), 1)
	require.NoError(t, err)
	require.Equal(t, len(r.Classes), made.Views)
	require.Equal(t, []int{0, 2}, passes)
	_, err = w.Repeat(w.job(3, "brain"), 77)
	require.Equal(t, "gone", FaultOf(err).Code)
}
