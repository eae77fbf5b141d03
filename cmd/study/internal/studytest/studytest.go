// Package studytest makes data sets, weights and pictures for the tests of studies.
package studytest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// WritePicture draws a picture of some colours.
func WritePicture(t *testing.T, path string, w, h int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, color.NRGBA{uint8(3 * i), uint8(90 + i%w), uint8(40 + i/w), 255})
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// CentresFile writes a CSV and its pictures, of 40×30 pixels.
func CentresFile(t *testing.T, text string, pictures ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "images"), 0o755))
	for _, name := range pictures {
		WritePicture(t, filepath.Join(dir, "images", name), 40, 30)
	}
	file := filepath.Join(dir, "disc.csv")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// Biased is a model whose mask is the whole image for a large bias, or empty for a low one.
func Biased(t *testing.T, about weights.Metadata, bias float32) string {
	t.Helper()
	return WeightsFile(t, about, func(f *weights.File) {
		b := f.Tensor("conp.head.bias")
		values := make([]float32, len(about.Classes))
		for i := range values {
			values[i] = bias
		}
		*b = weights.NewF32(b.Name, b.Shape, values)
	})
}

func WriteFile(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func WeightsFile(t *testing.T, about weights.Metadata, change func(*weights.File)) string {
	t.Helper()
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	if change != nil {
		change(f)
	}
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), about.Name+".safetensors")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

// Synthesise writes five images with the marks of the scenario's six raters, and metadata of a
// model with these raters.
func Synthesise(t *testing.T) (dir string, about weights.Metadata) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	scenario, err := synthetic.FindScenario("unbiased")
	require.NoError(t, err)
	require.NoError(t, synthetic.WriteDataset(t.Context(), dir, scenario, 5, 48, 3))
	about = segmenttest.Raters()
	about.Classes, about.Raters = synthetic.Classes, nil
	for _, r := range scenario.Raters {
		about.Raters = append(about.Raters, r.Name)
	}
	return dir, about
}

func WriteMask(t *testing.T, path string, w, h int, inside func(x, y int) bool) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		if inside(i%w, i/w) {
			m.Set(i%w, i/w, color.White)
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// LevelData writes five images with four agreement levels. Higher levels lie inside lower ones, and
// the cup inside the disc.
func LevelData(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(`{"name": "levels", "classes": ["disc", "cup"],
		"raters": ["atleast1", "atleast2", "atleast3", "atleast4"], "labels": "agreement-levels"}`), 0o644))
	for i := range 5 {
		img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
		draw.Draw(img, img.Rect, image.NewUniform(color.NRGBA{60, 40, byte(30 * i), 255}), image.Point{}, draw.Src)
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "images"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "images", fmt.Sprintf("i%d.png", i)), b.Bytes(), 0o644))
		for j := range 4 {
			for k, class := range []string{"disc", "cup"} {
				radius := 12 - 2*j - 5*k
				WriteMask(t, filepath.Join(dir, "raters", fmt.Sprintf("atleast%d", j+1), class, fmt.Sprintf("i%d.png", i)), 40, 30, func(x, y int) bool {
					return (x-20)*(x-20)+(y-15)*(y-15) < radius*radius && radius > 0
				})
			}
		}
	}
	return dir
}

// ReadFile is the content of a file.
func ReadFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Records reads a CSV by column.
func Records(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	table, _, err := cells.Read(ReadFile(t, path))
	require.NoError(t, err)
	for _, line := range table.Lines {
		row := map[string]string{}
		for i, name := range table.Columns {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func Parsed(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

// CupsOnly is levelData without marks of discs.
func CupsOnly(t *testing.T) string {
	t.Helper()
	dir := LevelData(t)
	for _, rater := range []string{"atleast1", "atleast2", "atleast3", "atleast4"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "raters", rater, "disc")))
	}
	about := `{"name": "levels", "classes": ["cup"], "raters": ["atleast1", "atleast2", "atleast3", "atleast4"], "labels": "agreement-levels"}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(about), 0o644))
	return dir
}

// Flat is an image of one colour.
func Flat(w, h int, ink color.RGBA) *imageio.Image {
	img := &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
	for i := range w * h {
		copy(img.Pix[3*i:], []uint8{ink.R, ink.G, ink.B})
	}
	return img
}

// Disc is a mask of 1 within r of x, y.
func Disc[T uint8 | float32](w, h int, x, y, r float64) []T {
	mask := make([]T, w*h)
	for i := range mask {
		if math.Hypot(float64(i%w)+.5-x, float64(i/w)+.5-y) < r {
			mask[i] = 1
		}
	}
	return mask
}

// Alike reports whether no channel differs by more than most.
func Alike(a, b color.RGBA, most int) bool {
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		if max(d, -d) > most {
			return false
		}
	}
	return true
}
