package dicom

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pictures of testdata have 7 × 5 pixels: grey of 12 bits, and RGB of 8. dcmtk 3.6.7 encoded
// them: the lossless JPEGs with each of the seven predictors (dcmcjpeg +el +sv N), and the files
// whose names end in rle (dcmcrle).
const width, height = 7, 5

func greyAt(x, y int) uint16   { return uint16((x*x*37 + y*y*211 + x*y*5) % 4096) }
func rgbAt(x, y, c int) uint16 { return uint16((x*31 + y*17*(c+1) + c*50) % 256) }
func samples(components int) (all []uint16) {
	for i := range width * height * components {
		x, y, c := i/components%width, i/components/width, i%components
		if components == 1 {
			all = append(all, greyAt(x, y))
		} else {
			all = append(all, rgbAt(x, y, c))
		}
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func TestLosslessJPEG(t *testing.T) {
	for name, components := range map[string]int{"grey": 1, "rgb": 3} {
		for predictor := range 7 {
			data := read(t, fmt.Sprintf("%s%d.jpg", name, predictor+1))
			got, err := lossless(data, width, height, components)
			require.NoError(t, err)
			assert.Equal(t, samples(components), got, "%s, predictor %d", name, predictor+1)
			_, err = lossless(data, width+1, height, components)
			assert.Error(t, err, "of another size")
			for end := range bytes.TrimRight(data[:len(data)-2], "\xff") { // fill bytes may stand before the end
				_, err := lossless(data[:end], width, height, components)
				assert.Error(t, err, "cut after %d bytes", end)
			}
			for i := range data { // a damaged file may give a picture, and no panic
				damaged := append([]byte(nil), data...)
				damaged[i] ^= 0x55
				lossless(damaged, width, height, components)
			}
		}
	}
}

// Run lengths give the pixels of the plain file.
func TestRunLengths(t *testing.T) {
	decoded := func(name string) image.Image {
		f, err := Open(read(t, name), 0, nil)
		require.NoError(t, err)
		m, err := f.Decode()
		require.NoError(t, err)
		return m
	}
	for _, name := range []string{"grey", "rgb"} {
		want, got := decoded(name+".dcm"), decoded(name+"rle.dcm")
		assert.Equal(t, image.Rect(0, 0, width, height), want.Bounds())
		assert.Equal(t, want, got, name)
	}
	r, g, b, _ := decoded("rgb.dcm").At(3, 2).RGBA()
	assert.Equal(t, []uint16{rgbAt(3, 2, 0), rgbAt(3, 2, 1), rgbAt(3, 2, 2)}, []uint16{uint16(r >> 8), uint16(g >> 8), uint16(b >> 8)})
}
