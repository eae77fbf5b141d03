package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/tiff"
	"mrprism/internal/output/sheet"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

func decoded(t *testing.T, path string, slice int) *imageio.Image {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	m, err := imageio.DecodeSlice(path, data, slice)
	require.NoError(t, err)
	return m
}

// Every format has the pixels of the PNG, for the mask and for each rater; a slice of a volume stays
// where it is.
func TestFormats(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	photo := imageio.Convert(synthetic.Photograph(1, 60, 40))
	var planes [][]uint8
	for range 3 {
		plane := make([]uint8, 60*40)
		for i := range plane {
			plane[i] = photo.Pix[3*i]
		}
		planes = append(planes, plane)
	}
	place := nifti.Scanner([3]float64{0.5, 0, 0}, [3]float64{0, 0.5, 0}, [3]float64{0, 0, 3}, [3]float64{1, 2, 3})
	volume, err := nifti.Encode(60, 40, place, [2]float64{}, "", planes, false)
	require.NoError(t, err)
	source := write(t, filepath.Join(dir, "scan.nii.gz"), volume)
	w := weightsFile(t, dir, segmenttest.Raters(), nil)

	got := call(t, "-weights", w, "-device", "reference", "-roi", "none", "-out", out, "-format", "png, tiff,tiff-mask,nifti,nifti-mask,png-mask,svg,geojson,tiff", source)
	require.Zero(t, got.code, got.stderr)
	var s journal.Entry
	text, err := os.ReadFile(filepath.Join(out, "scan_slice1of3.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &s))
	require.Len(t, s.Files.All, 8*4, "of the consensus and three raters")
	require.Len(t, listed(t, out), 8*4+1)
	for _, f := range s.Files.All {
		require.FileExists(t, filepath.Join(out, f.File))
	}
	first := s.Files.All[0]
	require.NotEmpty(t, first.SHA256)
	require.Equal(t, journal.Saved{File: "scan_slice1of3_brain.png", Format: "png", By: "consensus", Structure: "brain", Sum: first.Sum}, first)
	require.Equal(t, "guess of "+s.Raters[2], s.Files.All[31].By)
	require.Equal(t, "scan_slice1of3_eve.geojson", s.Files.All[31].File)

	for _, who := range []string{"scan_slice1of3_brain", "scan_slice1of3_brain_bob"} {
		levels, mask := readPNG(t, filepath.Join(out, who+".png")), readPNG(t, filepath.Join(out, who+"_mask.png"))
		require.Equal(t, image.Pt(60, 40), levels.Rect.Size())
		for ending, want := range map[string]*image.Gray{".tif": levels, "_mask.tif": mask, ".nii.gz": levels, "_mask.nii.gz": mask} {
			m := decoded(t, filepath.Join(out, who+ending), 0)
			require.InDeltaSlice(t, []float64{0.5, 0.5}, m.Spacing[:], 1e-6, ending)
			pixel := func(k int) uint8 { return m.Pix[3*k] }
			if strings.HasSuffix(ending, ".nii.gz") {
				data, err := os.ReadFile(filepath.Join(out, who+ending))
				require.NoError(t, err)
				volume, err := nifti.Read(data, 60*40)
				require.NoError(t, err)
				pixel = func(k int) uint8 { return uint8(255*volume.Values[k] + .5) }
			}
			for i, v := range want.Pix {
				require.Equal(t, v, pixel(i), "%s%s, pixel %d", who, ending, i)
			}
		}
	}
	written, err := nifti.Encode(60, 40, decoded(t, source, 2).Header.(*nifti.Geometry), [2]float64{}, "", planes[:1], false)
	require.NoError(t, err)
	want, err := imageio.Header("", written)
	require.NoError(t, err)
	require.Equal(t, want.Header, decoded(t, filepath.Join(out, "scan_slice1of3_brain.nii.gz"), 0).Header, "it lies where the middle slice lies")

	var drawing struct {
		ViewBox string     `xml:"viewBox,attr"`
		Paths   []struct{} `xml:"path"`
	}
	text, err = os.ReadFile(filepath.Join(out, "scan_slice1of3.svg"))
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(text, &drawing))
	require.Equal(t, "0 0 60 40", drawing.ViewBox)
	require.Len(t, drawing.Paths, 1)
	text, err = os.ReadFile(filepath.Join(out, "scan_slice1of3_ann.geojson"))
	require.NoError(t, err)
	require.True(t, json.Valid(text))

	got = call(t, "-weights", w, "-out", out, "-format", "png,bmp", source)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, `no format is named "bmp": there are png, `)
	over := call(t, "-weights", w, "-out", dir, "-format", "nifti", source, write(t, filepath.Join(dir, "scan_brain.nii.gz"), volume))
	require.Equal(t, 2, over.code)
	require.Contains(t, over.stderr, "would be overwritten by a mask of")
}

// Of a file with several pictures line, JSON, table and names of files say which one was segmented.
// Another one has files and a line of its own.
func TestPicturesOfAFile(t *testing.T) {
	dir := t.TempDir()
	grey := make([]uint8, 40*30)
	volume, err := nifti.Encode(40, 30, nil, [2]float64{}, "", [][]uint8{grey, grey, grey, grey, grey}, false)
	require.NoError(t, err)
	stack, err := tiff.Encode(40, 30, [2]float64{}, []tiff.Page{{Levels: grey}, {Levels: grey}, {Levels: grey}})
	require.NoError(t, err)
	scan, pages := write(t, filepath.Join(dir, "scan.nii.gz"), volume), write(t, filepath.Join(dir, "stack.tif"), stack)
	photo := write(t, filepath.Join(dir, "scan_slice1of5.png"), encodePNG(t, synthetic.Photograph(1, 40, 30)))
	w, out, table := weightsFile(t, dir, segmenttest.Raters(), nil), filepath.Join(dir, "out"), filepath.Join(dir, "all.csv")
	run := func(args ...string) string {
		t.Helper()
		got := call(t, append([]string{"-weights", w, "-device", "reference", "-roi", "none", "-out", out, "-csv", table}, args...)...)
		require.Zero(t, got.code, got.stderr)
		return got.stdout + got.stderr
	}
	pictures := func() (all []string) {
		data, err := os.ReadFile(table)
		require.NoError(t, err)
		read, _, err := sheet.Read(data)
		require.NoError(t, err)
		for i := range read.Lines {
			all = append(all, strings.TrimSpace(filepath.Base(read.Text(i, "image"))+" "+read.Text(i, "slice")+" "+read.Text(i, "slices")))
		}
		return all
	}
	said := run(scan, pages, photo)
	require.Contains(t, said, "scan.nii.gz: slice 1 of 5; ")
	require.Contains(t, said, "stack.tif: page 1 of 3; ")
	require.NotContains(t, said, "scan_slice1of5.png: slice")
	names := []string{"scan.nii.gz 1 5", "stack.tif 1 3", "scan_slice1of5.png"}
	require.Equal(t, names, pictures())
	for name, want := range map[string][2]int{"scan_slice1of5": {1, 5}, "stack_slice1of3": {1, 3}, "scan_slice1of5_2": {}} {
		var s journal.Entry
		text, err := os.ReadFile(filepath.Join(out, name+".json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &s))
		require.Equal(t, want, [2]int{s.Slice, s.Slices}, name)
		require.FileExists(t, filepath.Join(out, name+"_brain.png"))
	}
	before := listed(t, out)
	require.Contains(t, run("-slice", "2", scan), "scan.nii.gz: slice 2 of 5; ")
	require.Equal(t, append(names, "scan.nii.gz 2 5"), pictures())
	require.Len(t, listed(t, out), len(before)+5)
	require.Contains(t, run("-slice", "2", scan), "1 of 1 images are done")
	require.Contains(t, run(scan, pages, photo), "3 of 3 images are done")
	for _, name := range before {
		require.FileExists(t, filepath.Join(out, name))
	}

	failed := call(t, "-weights", w, "-device", "reference", "-out", out, "-csv", table, "-slice", "4", pages)
	require.Equal(t, 1, failed.code)
	require.Equal(t, append(names, "scan.nii.gz 2 5", "stack.tif 4"), pictures())
	inside := write(t, filepath.Join(dir, "scan_slice2of5_brain.png"), encodePNG(t, synthetic.Photograph(1, 40, 30)))
	over := call(t, "-weights", w, "-out", dir, "-slice", "2", scan, inside)
	require.Equal(t, 2, over.code)
	require.Contains(t, over.stderr, "would be overwritten by a mask of")
}

// A DICOM SEG refers to a DICOM source, names the patient only if asked, and is refused for other
// images before they are segmented.
func TestSegmentationFiles(t *testing.T) {
	root := os.Getenv("MRPRISM_VECTORS")
	source := filepath.Join(root, "dicom", "test_files", "CT_small.dcm")
	if _, err := os.Stat(source); root == "" || err != nil {
		t.Skip("no vectors: set MRPRISM_VECTORS")
	}
	dir := t.TempDir()
	w := weightsFile(t, dir, segmenttest.Fundus(), nil)
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	for _, keep := range []bool{false, true} {
		out := t.TempDir()
		args := []string{"-weights", w, "-device", "reference", "-roi", "none", "-out", out, "-format", "png,dicom-seg,dicom-seg-fractional,nifti,dicom-sr,dicom-sc"}
		if keep {
			args[len(args)-1] += ",identity"
		}
		got := call(t, append(args, source, photo)...)
		require.Equal(t, 1, got.code, got.stderr)
		require.Contains(t, got.stderr, "a.png: -format dicom-seg: a file of DICOM refers to a DICOM image, and this is none; save the masks as NIfTI or TIFF")
		require.NoFileExists(t, filepath.Join(out, "a.json"))
		for _, who := range []string{"", "_atleast2"} {
			for c, class := range []string{"disc", "cup"} {
				want := readPNG(t, filepath.Join(out, "CT_small_"+class+who+".png"))
				binary, fractional := decoded(t, filepath.Join(out, "CT_small"+who+"_seg.dcm"), c+1), decoded(t, filepath.Join(out, "CT_small"+who+"_seg_fractional.dcm"), c+1)
				require.Equal(t, 2, binary.Slices)
				for i, v := range want.Pix {
					require.Equal(t, v, fractional.Pix[3*i])
					require.Equal(t, v >= 128, binary.Pix[3*i] == 255)
				}
				ct, volume := decoded(t, source, 0), decoded(t, filepath.Join(out, "CT_small_"+class+who+".nii.gz"), 0)
				require.InDeltaSlice(t, ct.Spacing[:], volume.Spacing[:], 1e-6)
			}
		}
		data, err := os.ReadFile(filepath.Join(out, "CT_small_seg.dcm"))
		require.NoError(t, err)
		require.Equal(t, keep, bytes.Contains(data, []byte("CompressedSamples^CT1")))
		require.NoFileExists(t, filepath.Join(out, "CT_small_atleast2_sr.dcm"), "it is about all levels")
		said, err := os.ReadFile(filepath.Join(out, "CT_small_sr.dcm"))
		require.NoError(t, err)
		require.Equal(t, keep, bytes.Contains(said, []byte("CompressedSamples^CT1")))
		instance := regexp.MustCompile(`2\.25\.\d+`).Find(data) // of the file, in its head
		require.Contains(t, string(said), string(instance), "the report names the file of the masks")
		shown, ct := decoded(t, filepath.Join(out, "CT_small_sc.dcm"), 0), decoded(t, source, 0)
		require.Equal(t, []int{128, 139}, []int{shown.W, shown.H})
		drawn := 0
		for i := range 128 * 128 {
			if pixel := shown.Pix[3*i:][:3]; !bytes.Equal(pixel, ct.Pix[3*i:][:3]) {
				require.Contains(t, [][]byte{{0x3f, 0xd0, 0xff}, {0xbe, 0xf5, 0x5c}}, pixel, "an outline's colour")
				drawn++
			}
		}
		require.Positive(t, drawn)
	}
	got := call(t, "-weights", w, "-device", "reference", "-roi", "none", "-out", t.TempDir(), "-slice", "all", "-format", "dicom-sr", source)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "a DICOM SR has the figures of one picture; name it by -slice N")
}

// A DICOM image that lacks what a DICOM SEG refers to is refused before it is segmented, and the
// message names what it lacks. Other formats can be written.
func TestSegmentationsOfPoorSources(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	source := write(t, filepath.Join(dir, "poor.dcm"), dicomtest.Grey(40, 30, make([]uint8, 1200), dicomtest.Instance, dicomtest.Study))
	got := call(t, "-weights", w, "-device", "reference", "-roi", "none", "-out", out, "-format", "nifti,dicom-seg", source)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "poor.dcm: -format dicom-seg: the file has no valid SOP Instance UID (0008,0018), Study Instance UID (0020,000D), "+
		"by which a DICOM SEG refers to it; save the masks as NIfTI or TIFF")
	require.Empty(t, listed(t, out))
	got = call(t, "-weights", w, "-device", "reference", "-roi", "none", "-out", out, "-format", "nifti", source)
	require.Zero(t, got.code, got.stderr)
}
