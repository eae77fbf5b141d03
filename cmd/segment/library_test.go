package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"mrprism"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// Package mrprism gives the program's files and figures: of a whole picture and of a region, of
// levels and of raters, as PNG and as DICOM SEG.
func TestLibraryWritesTheSameFiles(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	pixels := synthetic.Photograph(3, 80, 60)
	grey := make([]uint8, 80*60)
	for i := range grey {
		grey[i] = pixels.Pix[4*i]
	}
	scan := write(t, filepath.Join(dir, "scan.dcm"), dicomtest.Grey(80, 60, grey))
	photo := write(t, filepath.Join(dir, "photo.png"), encodePNG(t, pixels))
	same := func(file string, save func(path string) error) {
		t.Helper()
		path := filepath.Join(dir, "saved")
		require.NoError(t, save(path))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(out, file))
		require.NoError(t, err)
		require.Equal(t, want, got, file)
	}
	for _, about := range []string{
		weightsFile(t, dir, segmenttest.Fundus(), nil), weightsFile(t, dir, segmenttest.Raters(), nil),
	} {
		got := call(t, "-weights", about, "-device", "reference", "-roi", "8,4,48", "-out", out, "-format", "png,dicom-seg", scan)
		require.Zero(t, got.code, got.stderr)
		got = call(t, "-weights", about, "-device", "reference", "-out", out, photo)
		require.Zero(t, got.code, got.stderr)
		m, err := mrprism.Open(about)
		require.NoError(t, err)
		defer m.Close()
		for image, options := range map[string][]mrprism.Option{"scan.dcm": {mrprism.Region(8, 4, 48)}, "photo.png": nil} {
			img, err := mrprism.ReadImage(filepath.Join(dir, image))
			require.NoError(t, err)
			r, err := m.Segment(t.Context(), img, append(options, mrprism.Device("reference"))...)
			require.NoError(t, err)
			stem := image[:len(image)-4]
			for _, s := range r.Structures {
				same(stem+"_"+s.Name+".png", s.WritePNG)
				same(stem+"_"+s.Name+masks.Suffixes(m.Raters, m.Structures)[2]+".png", s.Raters[2].WritePNG)
			}
			if stem == "scan" {
				saved := filepath.Join(dir, "saved.dcm") // with UIDs of its own
				require.NoError(t, r.WriteDICOMSEG(saved))
				for n := range r.Structures {
					require.Equal(t, decoded(t, filepath.Join(out, "scan_seg.dcm"), n+1).Pix, decoded(t, saved, n+1).Pix)
				}
			}
			text, err := os.ReadFile(filepath.Join(out, stem+".json"))
			require.NoError(t, err)
			var entry struct{ Measurements json.RawMessage }
			require.NoError(t, json.Unmarshal(text, &entry))
			figures, err := json.Marshal(r)
			require.NoError(t, err)
			require.JSONEq(t, string(entry.Measurements), string(figures))
		}
	}
}
