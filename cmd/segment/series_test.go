package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/output/sheet"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// photograph is one in grey, 40 × 30 pixels, which differs by seed.
func photograph(seed uint64) []byte {
	m, grey := imageio.Convert(synthetic.Photograph(seed, 40, 30)), make([]byte, 40*30)
	for i := range grey {
		grey[i] = m.Pix[3*i]
	}
	return grey
}

// folder writes a series of DICOM files, whose names are in no order, with slices at zs.
func folder(t *testing.T, dir string, zs ...float64) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for i, z := range zs {
		write(t, filepath.Join(dir, fmt.Sprintf("%d.dcm", (i*7+3)%len(zs))), dicomtest.Slice(40, 30, photograph(uint64(i+1)), z, nil))
	}
	return dir
}

func entryOf(t *testing.T, path string) (e journal.Entry) {
	t.Helper()
	require.NoError(t, json.Unmarshal(must(os.ReadFile(path)), &e))
	return e
}

// lines are "slice/slices, area, volume, error" of a table.
func linesOf(t *testing.T, path string) (all []string) {
	t.Helper()
	read, _, err := sheet.Read(must(os.ReadFile(path)))
	require.NoError(t, err)
	for i := range read.Lines {
		there := func(column string) string {
			if read.Text(i, column) != "" {
				return column
			}
			return "-"
		}
		all = append(all, fmt.Sprintf("%s/%s %s %s %s", read.Text(i, "slice"), read.Text(i, "slices"), there("brain_area_px"), there("brain_volume_ml"), there("error")))
	}
	return all
}

// All slices of a volume have names, entries and lines; one NIfTI holds them in the source's space.
// A second run has nothing to do.
func TestSeries(t *testing.T) {
	dir := t.TempDir()
	place := nifti.Scanner([3]float64{0.5, 0, 0}, [3]float64{0, 0.5, 0.1}, [3]float64{0, -0.3, 3}, [3]float64{1, 2, 3})
	volume, err := nifti.EncodeSeries(40, 30, 4, place, [3]float64{}, "", func(i int) []byte { return photograph(uint64(i + 1)) }, false)
	require.NoError(t, err)
	scan, photo := write(t, filepath.Join(dir, "scan.nii.gz"), volume), write(t, filepath.Join(dir, "photo.png"), encodePNG(t, synthetic.Photograph(1, 40, 30)))
	w, out := weightsFile(t, dir, segmenttest.Raters(), nil), filepath.Join(dir, "out")
	table := filepath.Join(out, "all.csv")
	base := []string{"-weights", w, "-device", "reference", "-roi", "none", "-out", out, "-csv", table, "-format", "png,nifti,nifti-mask"}
	run := func(args ...string) string {
		t.Helper()
		got := call(t, append(base, args...)...)
		require.Zero(t, got.code, got.stderr)
		return got.stdout + got.stderr
	}
	run("-slice", "3", scan)
	said := run("-slice", "all", scan, photo)
	require.Contains(t, said, "scan.nii.gz: slice 4 of 4; ")
	require.Contains(t, said, "scan.nii.gz: 4 slices, 3.001 mm apart; brain ")
	lines := []string{
		"3/4 brain_area_px - -", "1/4 brain_area_px - -", "2/4 brain_area_px - -", "4/4 brain_area_px - -", "/4 - brain_volume_ml -", "/ brain_area_px - -",
	}
	require.Equal(t, lines, linesOf(t, table))
	for _, author := range []string{"", "_ann", "_bob", "_eve"} {
		require.FileExists(t, filepath.Join(out, "scan_brain"+author+".nii.gz"))
		require.FileExists(t, filepath.Join(out, "scan_slice2of4_brain"+author+".png"))
		require.NoFileExists(t, filepath.Join(out, "scan_slice2of4_brain"+author+".nii.gz"))
	}
	e, total := entryOf(t, filepath.Join(out, "scan.json")), 0
	for i := range 4 {
		slice := entryOf(t, filepath.Join(out, fmt.Sprintf("scan_slice%dof4.json", i+1)))
		require.Equal(t, []int{i + 1, 4}, []int{slice.Slice, slice.Slices})
		require.Equal(t, slice.Measurements.Structures[0].Area, e.Volumes.Structures[0].Areas[i])
		total += slice.Measurements.Structures[0].Area
	}
	v := e.Volumes.Structures[0]
	voxel := e.Measurements.Spacing[0] * e.Measurements.Spacing[1] * e.Volumes.Step / 1000
	require.InEpsilon(t, float64(total)*voxel, *v.ML, 1e-6)
	require.LessOrEqual(t, *v.Low, *v.ML)
	require.GreaterOrEqual(t, *v.High, *v.ML)
	require.Len(t, e.Files.All, 2*4)
	for i := range 4 {
		want := readPNG(t, filepath.Join(out, fmt.Sprintf("scan_slice%dof4_brain_bob.png", i+1)))
		got, err := nifti.Read(must(os.ReadFile(filepath.Join(out, "scan_brain_bob.nii.gz"))), 1e6)
		require.NoError(t, err)
		for k, level := range want.Pix {
			require.Equal(t, level, uint8(255*got.Values[i*1200+k]+.5))
		}
	}
	require.Contains(t, run("-slice", "all", scan, photo), "2 of 2 images are done already")
	require.Equal(t, lines, linesOf(t, table))

	// a slice that is lost, and a slice of another run, are segmented again with their series
	require.NoError(t, os.Remove(filepath.Join(out, "scan_slice2of4_brain.png")))
	require.Contains(t, run("-slice", "all", scan, photo), "1 of 2 images are done already")
	require.Contains(t, run("-slice", "3", scan), "scan.nii.gz: slice 3 of 4; ")
	require.Equal(t, lines, linesOf(t, table))
	require.Contains(t, run("-slice", "all", scan, photo), "1 of 2 images are done already")

	got := call(t, "-weights", w, "-device", "reference", "-roi", "none", "-slice", "all", "-json", "-", "-quiet", scan)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, 5, strings.Count(got.stdout, "\n"))
	require.Contains(t, strings.Split(got.stdout, "\n")[4], `"volumes":{"step_mm":`)

	python := "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import nibabel").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3-nibabel is missing: make setup")
		}
		t.Skip("python3-nibabel is missing")
	}
	text, err := exec.Command(python, "-c", `
import nibabel, numpy, sys
a, b, m = (nibabel.load(name) for name in sys.argv[1:])
assert numpy.array_equal(a.affine, b.affine) and numpy.array_equal(a.affine, m.affine), (a.affine, b.affine)
assert a.shape == b.shape == m.shape and set(numpy.unique(m.get_fdata())) <= {0, 1}
for key in ("qform_code", "sform_code", "xyzt_units"):
    assert a.header[key] == b.header[key], key`, scan, filepath.Join(out, "scan_brain.nii.gz"), filepath.Join(out, "scan_brain_mask.nii.gz")).CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// A folder of DICOM files is a series; a gap leaves no volume and no NIfTI; what makes no series is
// named, and pictures beside it are segmented.
func TestFolderOfSlices(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	run := func(args ...string) outcome {
		return call(t, append([]string{"-weights", w, "-device", "reference", "-roi", "none", "-slice", "all", "-out", out, "-csv", filepath.Join(out, "all.csv")}, args...)...)
	}
	whole := folder(t, filepath.Join(dir, "whole"), 0, 2, 4, 6)
	write(t, filepath.Join(whole, "photo.png"), encodePNG(t, synthetic.Photograph(1, 40, 30)))
	got := run("-format", "nifti,dicom-seg,dicom-seg-fractional", whole)
	require.Equal(t, 1, got.code, "photo.png is no DICOM")
	require.Contains(t, got.stderr, "photo.png: -format dicom-seg: a file of DICOM refers to a DICOM image")
	require.Contains(t, got.stderr, "1 of 5 images failed")
	require.Contains(t, got.stdout, "whole: slice 4 of 4; ")
	require.Contains(t, got.stdout, "whole: 4 slices, 2 mm apart; brain ")
	e := entryOf(t, filepath.Join(out, "whole.json"))
	for i, place := range e.Volumes.Slices {
		require.Equal(t, fmt.Sprintf("%d.dcm", (i*7+3)%4), filepath.Base(place.File))
		require.InDelta(t, 2*i, *place.Position, 1e-9)
	}
	levels := decoded(t, filepath.Join(out, "whole_seg_fractional.dcm"), 3)
	require.Equal(t, 4, levels.Slices)
	volume, err := nifti.Read(must(os.ReadFile(filepath.Join(out, "whole_brain.nii.gz"))), 1e6)
	require.NoError(t, err)
	for k := range 1200 {
		require.Equal(t, levels.Pix[3*k], uint8(255*volume.Values[2*1200+k]+.5))
	}
	require.NoError(t, os.Remove(filepath.Join(whole, "photo.png")))
	require.Contains(t, run("-format", "nifti,dicom-seg,dicom-seg-fractional", whole).stderr, "1 of 1 images are done already")

	gap := folder(t, filepath.Join(dir, "gap"), 0, 2, 4, 8)
	got = run("-format", "dicom-seg", gap)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "4 mm between 1.dcm and 0.dcm, and elsewhere 2 mm; Slices are missing, or their steps differ")
	require.Contains(t, run("-format", "nifti", gap).stderr, "do not lie in even steps")

	mixed := folder(t, filepath.Join(dir, "mixed"), 0, 2)
	write(t, filepath.Join(mixed, "other.dcm"), dicomtest.Slice(40, 30, photograph(9), 4, map[uint32]string{dicomtest.Series: "1.2.3.9"}))
	single := folder(t, filepath.Join(dir, "single"), 0)
	got = run(mixed, single)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "mixed has more than one series: 1.2.3.3 (2 slices, as 0.dcm) and 1.2.3.9 (1 slices, as other.dcm); keep one in a folder of its own")
	require.Contains(t, got.stderr, "single has one slice, which makes no volume")
	require.FileExists(t, filepath.Join(out, "single.json"))

	for args, want := range map[string]string{"-slice 0": "slices count from 1", "-slice -1": "slices count from 1", "-slice most": "slices count from 1", "-evidence ann=a.png": "-evidence marks one picture"} {
		got := run(append(strings.Fields(args), whole)...)
		require.Equal(t, 2, got.code, args)
		require.Contains(t, got.stderr, want, args)
	}
}

// A slice that cannot be read fails alone, and its series has no volume.
func TestSeriesWithABadSlice(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	scan := folder(t, filepath.Join(dir, "scan"), 0, 2, 4)
	path := filepath.Join(scan, "0.dcm")
	data := must(os.ReadFile(path))
	write(t, path, data[:len(data)-100])
	table := filepath.Join(out, "all.csv")
	got := call(t, "-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-roi", "none", "-slice", "all", "-out", out, "-csv", table, scan)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "scan: 1 of its 3 slices failed, and it has no volume")
	require.Contains(t, got.stderr, "2 of 4 images failed")
	require.NoFileExists(t, filepath.Join(out, "scan.json"))
	lines := linesOf(t, table)
	require.Len(t, lines, 4)
	require.Equal(t, "/ - - error", lines[3])
}
