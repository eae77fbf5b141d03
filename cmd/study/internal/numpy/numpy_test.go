package numpy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/files/npy"

	"github.com/stretchr/testify/require"
)

// The arrays of testdata are NumPy's own; arrays.py made them.
func TestRead(t *testing.T) {
	eighths := []float32{0, .125, .25, .375, .5, .625}
	var cube []float32
	for i := range 24 {
		cube = append(cube, float32(i))
	}
	for name, want := range map[string]Array{
		"c_f4":       {[]int{2, 3}, eighths, 0},
		"fortran_f8": {[]int{2, 3}, eighths, 0},
		"big_f4":     {[]int{2, 3}, eighths, 0},
		"v2_f8":      {[]int{2, 3}, eighths, 0},
		"u1":         {[]int{2, 2}, []float32{0, 1, 128, 255}, 255},
		"bool":       {[]int{1, 2}, []float32{1, 0}, 1},
		"3d":         {[]int{2, 3, 4}, cube, 0},
	} {
		got, err := Read(file(t, name), 24)
		require.NoError(t, err, name)
		require.Equal(t, want, *got, name)
	}
}

// Every type of numbers is read, in both byte orders.
func TestTypes(t *testing.T) {
	for _, kind := range []string{"b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"} {
		for _, order := range []string{"<", ">"} {
			data := bytes.Replace(npy.Encode(1, 2, nil), []byte("<f4"), []byte(order+kind), 1)
			width, one := int(kind[1]-'0'), 0
			if order == ">" {
				one = width - 1
			}
			values := make([]byte, 2*width)
			values[width+one] = 1
			a, err := Read(append(data, values...), 2)
			require.NoError(t, err, kind)
			require.Equal(t, []float32{0, 1}, a.Values, order+kind)
		}
	}
	halves := bytes.Replace(npy.Encode(1, 2, nil), []byte("<f4"), []byte("<f2"), 1)
	a, err := Read(append(halves, 0, 0x38, 0, 0x3c), 2)
	require.NoError(t, err)
	require.Equal(t, []float32{.5, 1}, a.Values)
}

func TestBadFiles(t *testing.T) {
	good := file(t, "c_f4")
	changed := func(at int, b byte) []byte {
		data := append([]byte(nil), good...)
		data[at] = b
		return data
	}
	for text, data := range map[string][]byte{
		"this is no .npy file":        []byte("\x89PNG"),
		"cut short":                   good[:len(good)-1],
		"version 9":                   changed(6, 9),
		"too many values; at most 24": []byte("\x93NUMPY\x01\x00\x40\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2000, 30000)}   "),
		"no plain descr":              []byte("\x93NUMPY\x01\x00\x38\x00{'descr': [], 'fortran_order': False, 'shape': (1,)}      "),
		"of the type c8; save floats": bytes.Replace(good, []byte("<f4"), []byte("<c8"), 1),
	} {
		_, err := Read(data, 24)
		require.ErrorContains(t, err, text)
	}
	for n := range good {
		_, err := Read(good[:n], 24)
		require.Error(t, err, "%d bytes", n)
	}
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".npy"))
	require.NoError(t, err)
	return data
}
