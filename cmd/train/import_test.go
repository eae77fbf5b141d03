package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"

	"mrprism/internal/program/cli"
)

// writeREFUGE makes photographs and references in the layout of REFUGE, of 80×64 pixels.
func writeREFUGE(t *testing.T, images int) string {
	t.Helper()
	folder := t.TempDir()
	for i := range images {
		photograph, reference := image.NewRGBA(image.Rect(0, 0, 80, 64)), image.NewGray(image.Rect(0, 0, 80, 64))
		for y := range 64 {
			for x := range 80 {
				light, mark := uint8(3*x), uint8(255)
				switch far := (x-40)*(x-40) + (y-32)*(y-32); {
				case far < 64+i:
					light, mark = 255, 0
				case far < 400+i:
					light, mark = 200, 128
				}
				photograph.SetRGBA(x, y, color.RGBA{light, light / 2, uint8(9 * i), 255})
				reference.SetGray(x, y, color.Gray{Y: mark})
			}
		}
		var jpg, mask bytes.Buffer
		require.NoError(t, jpeg.Encode(&jpg, photograph, nil))
		require.NoError(t, bmp.Encode(&mask, reference))
		for name, data := range map[string][]byte{
			fmt.Sprintf("Training400/Glaucoma/g%04d.jpg", i):                           jpg.Bytes(),
			fmt.Sprintf("Annotation-Training400/Disc_Cup_Masks/Glaucoma/g%04d.bmp", i): mask.Bytes(),
		} {
			path := filepath.Join(folder, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, data, 0o644))
		}
	}
	return folder
}

// A downloaded set is imported, checked and trained on.
func TestImport(t *testing.T) {
	source, data := writeREFUGE(t, 5), filepath.Join(t.TempDir(), "refuge")
	stray := filepath.Join(source, "readme.txt")
	require.NoError(t, os.WriteFile(stray, nil, 0o644))
	code, stdout, stderr := invoke(t.Context(), "import", "refuge", source, data, "-longest", "64")
	require.Equal(t, cli.Done, code, stderr)
	for _, want := range []string{"not taken (1)", stray + ": neither", "refuge, 5 images", "masks  disc  cup", "panel     5    5", "Next: train check",
		"train check " + data} {
		assert.Contains(t, stdout, want)
	}
	code, stdout, _ = invoke(t.Context(), "check", data)
	assert.Equal(t, cli.Done, code, stdout)
	code, _, stderr = invoke(t.Context(), arguments(data, filepath.Join(t.TempDir(), "run"), "1", "-anchor", "disc")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "4 images to train on, 1 held out; 1 rater, 2 classes")
	assert.Contains(t, stderr, " -data "+data+" -roi auto\n", "with an anchor images are searched")

	code, _, stderr = invoke(t.Context(), "import", "refuge", source, data)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "is not empty")
	code, _, stderr = invoke(t.Context(), "import", "refuge", source, data, "-force")
	assert.Equal(t, cli.Done, code, stderr)
}

func TestImportUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"a LAYOUT, SRC and DST":      {"riga", "a"},
		`no layout is named "drive"`: {"drive", "a", "b"},
		"-longest -1":                {"riga", "a", "b", "-longest", "-1"},
		`"0" is not a number`:        {"qubiq", "a", "b", "-channels", "0"},
		"2 numbers":                  {"qubiq", "a", "b", "-channels", "1,2"},
		"is not LOW,HIGH":            {"qubiq", "a", "b", "-window", "3"},
		"LOW must be lower":          {"qubiq", "a", "b", "-window", "3,-3"},
	} {
		code, _, stderr := invoke(t.Context(), append([]string{"import"}, args...)...)
		assert.Equal(t, cli.Usage, code, args)
		assert.Contains(t, stderr, want)
	}
	code, stdout, _ := invoke(t.Context(), "import", "-h")
	assert.Equal(t, cli.Done, code)
	for _, want := range []string{"image1prime.tif", "Disc_Cup_Masks", "task01_seg01.nii.gz", "-all-slices", "examples:"} {
		assert.Contains(t, stdout, want)
	}
	code, _, stderr := invoke(t.Context(), "import", "riga", filepath.Join(t.TempDir(), "nowhere"), filepath.Join(t.TempDir(), "x"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "nowhere")
}
