package dicom

import (
	"bytes"
	"fmt"
	"image"
	"math"
	"math/bits"
	"math/rand/v2"
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

// encoded is a lossless JPEG of grey samples (h, w) of 12 bits, with predictor 1 and the Huffman code
// of brightness in ITU T.81, table K.3.
func encoded(w, h int, samples []uint16) []byte {
	lengths := [...]int{2, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9}
	data := []byte{0xff, 0xd8, 0xff, 0xc3, 0, 11, 12, byte(h >> 8), byte(h), byte(w >> 8), byte(w), 1, 1, 0x11, 0,
		0xff, 0xc4, 0, 19 + 12, 0, 0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
		0xff, 0xda, 0, 8, 1, 1, 0, 1, 0, 0}
	codes, code := [12]int{}, 0
	for i, n := range lengths {
		if i > 0 {
			code = (code + 1) << (n - lengths[i-1])
		}
		codes[i] = code
	}
	held, kept := 0, 0
	put := func(v, n int) {
		for held, kept = held<<n|v, kept+n; kept >= 8; kept -= 8 {
			b := byte(held >> (kept - 8))
			if data = append(data, b); b == 0xff {
				data = append(data, 0)
			}
		}
		held &= 1<<kept - 1
	}
	for i, v := range samples {
		guess := 1 << 11
		switch {
		case i%w > 0:
			guess = int(samples[i-1])
		case i > 0:
			guess = int(samples[i-w])
		}
		diff := int(v) - guess
		size := bits.Len(uint(max(diff, -diff)))
		put(codes[size], lengths[size])
		if diff < 0 {
			diff += 1<<size - 1
		}
		put(diff, size)
	}
	put(0x7f, 7)
	return append(data, 0xff, 0xd9)
}

func BenchmarkLossless(b *testing.B) {
	const side = 1024
	samples := make([]uint16, side*side)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range samples {
		samples[i] = uint16(1000 + 500*math.Sin(float64(i%side)/50) + 20*random.NormFloat64())
	}
	data := encoded(side, side, samples)
	got, err := lossless(data, side, side, 1)
	require.NoError(b, err)
	require.Equal(b, samples, got)
	b.SetBytes(2 * side * side)
	for b.Loop() {
		if _, err := lossless(data, side, side, 1); err != nil {
			b.Fatal(err)
		}
	}
}
