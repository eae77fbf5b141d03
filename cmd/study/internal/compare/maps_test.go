package compare

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/npy"
	"mrprism/internal/files/tiff"

	"github.com/stretchr/testify/require"
)

// Every format gives the same map.
func TestReadPrediction(t *testing.T) {
	dir := t.TempDir()
	grey, deep, colours := image.NewGray(image.Rect(0, 0, 3, 2)), image.NewGray16(image.Rect(0, 0, 3, 2)), image.NewNRGBA(image.Rect(0, 0, 3, 2))
	levels := []uint8{0, 51, 102, 153, 204, 255}
	var want []float32
	for i, v := range levels {
		want = append(want, float32(v)/255)
		grey.Pix[i] = v
		deep.SetGray16(i%3, i/3, color.Gray16{Y: uint16(v) * 257})
		colours.SetNRGBA(i%3, i/3, color.NRGBA{v, v, v, 255})
	}
	volume, err := nifti.Encode(3, 2, nil, [2]float64{1, 1}, "", [][]uint8{levels}, false)
	require.NoError(t, err)
	pages, err := tiff.Encode(3, 2, [2]float64{}, []tiff.Page{{Levels: levels}})
	require.NoError(t, err)
	floats, err := tiff.Encode(3, 2, [2]float64{}, []tiff.Page{{Values: want}})
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"grey.png": encoded(t, grey), "deep.png": encoded(t, deep), "colours.png": encoded(t, colours), "a.npy": npy.Encode(2, 3, want), "a.nii": volume, "levels.tif": pages, "a_float.tif": floats,
	} {
		path := filepath.Join(dir, name)
		studytest.WriteFile(t, path, data)
		got, err := readPrediction(path, 3, 2, nil, never)
		require.NoError(t, err, name)
		require.InDeltaSlice(t, want, got, 1e-6, name)
	}
	ones := append(bytes.Replace(npy.Encode(2, 3, nil), []byte("<f4"), []byte("|u1"), 1), 0, 1, 0, 1, 1, 0)
	studytest.WriteFile(t, filepath.Join(dir, "ones.npy"), ones)
	for white, masks := range map[float32]func() bool{1. / 255: never, 1: func() bool { return true }} {
		got, err := readPrediction(filepath.Join(dir, "ones.npy"), 3, 2, nil, masks)
		require.NoError(t, err)
		require.Equal(t, []float32{0, white, 0, white, white, 0}, got)
	}
}

// Sums of float32 end a little beyond 0 and 1.
func TestRoundedPredictions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sum.npy")
	studytest.WriteFile(t, path, npy.Encode(1, 3, []float32{-1e-6, 1 + 1e-6, .5}))
	got, err := readPrediction(path, 3, 1, nil, never)
	require.NoError(t, err)
	require.Equal(t, []float32{0, 1, .5}, got)
}

func never() bool { return false }

func TestBadPredictions(t *testing.T) {
	dir := t.TempDir()
	colours := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	colours.SetNRGBA(0, 0, color.NRGBA{9, 9, 9, 255})
	colours.SetNRGBA(1, 0, color.NRGBA{255, 0, 0, 255})
	labels := image.NewPaletted(colours.Rect, color.Palette{color.Black, color.NRGBA{255, 0, 0, 255}, color.NRGBA{}})
	labels.Pix[4] = 2
	nan := float32(math.NaN())
	floats, err := tiff.Encode(3, 2, [2]float64{}, []tiff.Page{{Values: []float32{0, 0, nan, 0, 0, 0}}})
	require.NoError(t, err)
	volume, err := nifti.Encode(3, 2, nifti.Scanner([3]float64{2, 0, 0}, [3]float64{0, 2, 0}, [3]float64{0, 0, 2}, [3]float64{}), [2]float64{}, "", [][]uint8{make([]uint8, 6)}, false)
	require.NoError(t, err)
	place, err := nifti.Placed("2 0 0 0 0 -2 0 0 0 0 2 0")
	require.NoError(t, err)
	for _, c := range []struct {
		file, kind, text string
		data             []byte
	}{
		{"size.png", WrongSize, "it is 4×2 pixels, and the image is 3×2", encoded(t, image.NewGray(image.Rect(0, 0, 4, 2)))},
		{"turned.npy", WrongSize, "its shape is [3 2], and the image has 2 lines of 3 pixels; are its axes exchanged?", npy.Encode(3, 2, make([]float32, 6))},
		{"nan.npy", NotANumber, "NaN at x 1, y 1", npy.Encode(2, 3, []float32{0, 0, 0, 0, nan, 0})},
		{"over.npy", OutOfRange, "it holds 1.5 at x 2, y 0", npy.Encode(2, 3, []float32{0, 0, 1.5, 0, 0, 0})},
		{"scale.npy", OutOfRange, "it holds 1.0001 at", npy.Encode(2, 3, []float32{0, 0, 1.0001, 0, 0, 0})},
		{"under.npy", OutOfRange, "-0.25 at x 0, y 0", npy.Encode(2, 3, []float32{-.25, 0, 0, 0, 0, 0})},
		{"cut.npy", Unreadable, "cut short", npy.Encode(2, 3, []float32{1})},
		{"colours.png", Unreadable, "this mask has transparent pixels", encoded(t, colours)},
		{"labels.png", Unreadable, "this mask has transparent pixels", encoded(t, labels)},
		{"nan.tif", NotANumber, "NaN at x 2, y 0", floats},
		{"turned.nii.gz", Misplaced, "a pixel along its axis 1 is a step of [-2 0 0] mm, and in its image of [2 0 0] mm", volume},
		{"a.nii.gz", Unreadable, "cut short", []byte("\x1f\x8b")},
	} {
		path := filepath.Join(dir, c.file)
		studytest.WriteFile(t, path, c.data)
		values, err := readPrediction(path, 3, 2, place, never)
		require.Nil(t, values)
		bad, ok := errors.AsType[*trouble](err)
		require.True(t, ok, c.file)
		require.Equal(t, c.kind, bad.Kind, c.file)
		require.Contains(t, bad.Text, path+": ")
		require.Contains(t, bad.Text, c.text)
	}
}
