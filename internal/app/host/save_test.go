package host

import (
	"bytes"
	"testing"

	"mrprism/internal/app/export"
	"mrprism/internal/app/segment"
	"mrprism/internal/data/imageio"

	"github.com/stretchr/testify/require"
)

// A file has the masks of the result with what a person drew on them, in every format that its
// picture allows.
func TestSave(t *testing.T) {
	w := here(t, card)
	w.platform.Device, w.platform.Memory = "reference", nil
	h := New(t.Context(), w.platform)
	defer h.closeDevice()
	job := w.job(1, "brain")
	job.Options.ROI, job.Options.Recurrences = "none", 1
	r, err := h.Segment(job)
	require.NoError(t, err)
	require.Equal(t, []string{"png", "png-mask", "tiff", "tiff-mask", "nifti", "nifti-mask", "svg", "geojson"}, r.Formats())

	drawn := bytes.Repeat([]byte{segment.Unsaid}, r.Width*r.Height)
	drawn[0], drawn[1] = 0, 255
	for _, name := range []string{"png", "png-mask", "tiff-mask", "nifti"} {
		for i := range 2 {
			want, err := export.Structures(r.Width, r.Height, r.Classes, [][]float32{r.Recurrence(i, 0)})
			require.NoError(t, err)
			for _, marks := range [][]Drawing{nil, {{Class: 0, Mask: drawn}}} {
				data, err := h.Save(1, File{Format: name, I: i, Classes: []int{0}, Drawn: marks})
				require.NoError(t, err)
				if marks != nil {
					want[0].Levels[0], want[0].Levels[1] = 0, 255
				}
				read, err := imageio.Decode("a", data)
				require.NoError(t, err)
				for k, v := range want[0].Levels {
					if name == "png-mask" || name == "tiff-mask" {
						v = v >> 7 * 255
					}
					require.Equal(t, v, read.Pix[3*k], "%s, Rec%d, pixel %d", name, i, k)
				}
				if name == "png" {
					require.Equal(t, marks != nil, bytes.Contains(data, []byte("corrected by hand")))
				}
			}
		}
	}
	for want, wrong := range map[string]File{
		`there is no format "bmp"`: {Format: "bmp"}, "class is not a number from 0 to 0": {Format: "png", Classes: []int{1}},
		"i is not a number from 0 to 1": {Format: "png", Classes: []int{0}, I: 2}, "this is none; save the masks as NIfTI or TIFF": {Format: "dicom-seg", Classes: []int{0}},
		"has 3 pixels, and its map 12": {Format: "png", Classes: []int{0}, Drawn: []Drawing{{Mask: make([]byte, 3)}}},
	} {
		_, err := h.Save(1, wrong)
		require.ErrorContains(t, err, want)
	}
	_, err = h.Save(2, File{Format: "png"})
	require.Equal(t, "gone", FaultOf(err).Code)
}
