package imageio

import (
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/raster"
)

// greys make a file of w×h values, 0 to 4095, in each format whose values are brought to 8 bits.
var greys = map[string]func(t *testing.T, values []uint16, w, h int) []byte{
	"png": func(t *testing.T, values []uint16, w, h int) []byte {
		m := image.NewGray16(image.Rect(0, 0, w, h))
		for i, v := range values {
			m.SetGray16(i%w, i/w, color.Gray16{Y: v})
		}
		return encodePNG(t, m)
	},
	"png with alpha": func(t *testing.T, values []uint16, w, h int) []byte {
		m := image.NewNRGBA64(image.Rect(0, 0, w, h))
		for i, v := range values {
			m.SetNRGBA64(i%w, i/w, color.NRGBA64{v, v, v, 65535})
		}
		m.SetNRGBA64(0, 0, color.NRGBA64{9, 9, 9, 65534}) // else it is written without alpha
		return encodePNG(t, m)
	},
	"tiff": func(_ *testing.T, values []uint16, w, h int) []byte {
		return strip(uint32(w), uint32(h), 16, 1, words(values))
	},
	"tiff of 32 bits": func(_ *testing.T, values []uint16, w, h int) []byte {
		var wide []byte
		for _, v := range values {
			wide = binary.LittleEndian.AppendUint32(wide, uint32(v))
		}
		return strip(uint32(w), uint32(h), 32, 1, wide)
	},
	"nifti": niftiOf,
	"dicom": func(_ *testing.T, values []uint16, w, h int) []byte {
		data := append(make([]byte, 128), "DICM\x02\x00\x10\x00UI\x14\x001.2.840.10008.1.2.1\x00"...)
		for i, v := range []uint16{1, uint16(h), uint16(w), 16, 12, 11, 0} {
			element := []byte{0x02, 0x10, 0x11, 0x00, 0x01, 0x02, 0x03}[i]
			data = append(data, 0x28, 0, element, byte(min(i/3, 1)), 'U', 'S', 2, 0, byte(v), byte(v>>8))
		}
		return explicit(data, 0x7fe0, 0x10, "OW", words(values))
	},
}

func words(values []uint16) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// niftiOf is a volume of one slice.
func niftiOf(_ *testing.T, values []uint16, w, h int) []byte {
	data := niftiVolume(binary.LittleEndian)[:352]
	for i, n := range []int{3, w, h, 1} {
		binary.LittleEndian.PutUint16(data[40+2*i:], uint16(n))
	}
	binary.LittleEndian.PutUint16(data[70:], 512)
	return append(data, words(values)...)
}

// scene is a grey picture of 12 bits, dark at the edge, with a bright spot and texture.
func scene(w, h int) []uint16 {
	values := make([]uint16, w*h)
	for i := range values {
		x, y := float64(i%w)/float64(w)-0.5, float64(i/w)/float64(h)-0.5
		values[i] = uint16(max(0, 900*(0.5-x*x-3*y*y)+600*math.Exp(-200*(x-0.2)*(x-0.2)-100*y*y)+float64(i*7919%61)))
	}
	return values
}

// greyOf is a file's grey.
func greyOf(t *testing.T, name string, data []byte) []uint8 {
	m, err := Decode(name, data)
	require.NoError(t, err)
	grey := make([]uint8, m.W*m.H)
	for i := range grey {
		grey[i] = m.Pix[3*i]
	}
	return grey
}

// One extreme pixel changes no other: the range is that of the values, not of their largest.
func TestOnePixelDoesNotDecideTheRange(t *testing.T) {
	values := scene(96, 72)
	hot := slices.Clone(values)
	hot[1000] = 65535
	for format, file := range greys {
		want, got := greyOf(t, format, file(t, values, 96, 72)), greyOf(t, format, file(t, hot, 96, 72))
		if format != "dicom" { // 65535 is 4095 in 12 bits
			assert.EqualValues(t, 255, got[1000], format)
		}
		got[1000] = want[1000]
		assert.Less(t, farthest(want, got), 3, format)
		assert.Greater(t, int(slices.Max(want)), 250, format)
	}
}

func farthest(a, b []uint8) (most int) {
	for i, v := range a {
		most = max(most, int(v)-int(b[i]), int(b[i])-int(v))
	}
	return most
}

// A hot pixel in 16-bit colours does not make them darker either, and they keep their proportions.
func TestOnePixelDoesNotDecideTheBitsOfColours(t *testing.T) {
	m := image.NewRGBA64(image.Rect(0, 0, 96, 72))
	for i, v := range scene(96, 72) {
		m.SetRGBA64(i%96, i/96, color.RGBA64{2 * v, v, v / 2, 65535})
	}
	m.SetRGBA64(5, 5, color.RGBA64{65535, 0, 0, 65535})
	got, err := Decode("a.png", encodePNG(t, m))
	require.NoError(t, err)
	assert.Equal(t, 12, got.Bits)
	c := m.RGBA64At(40, 30)
	assert.Equal(t, []uint8{uint8(c.R >> 4), uint8(c.G >> 4), uint8(c.B >> 4)}, got.Pix[3*(30*96+40):][:3])
	assert.Equal(t, []uint8{255, 0, 0}, got.Pix[3*(5*96+5):][:3])
}

// Masks, whose values are few, keep the range of their bits.
func TestFlatPicturesKeepTheirBits(t *testing.T) {
	values := make([]uint16, 96*72)
	for i := range values {
		values[i] = uint16(i / 3000) // 0, 1 and 2
	}
	got := greyOf(t, "png", greys["png"](t, values, 96, 72))
	assert.Equal(t, []uint8{0, 1, 2}, []uint8{got[0], got[3500], got[6500]})
}

// A TIFF whose samples of 12 bits stand in 16 is inverted within those 12.
func TestInvertedAfterTheDepth(t *testing.T) {
	values := scene(96, 72)
	inverted := slices.Clone(values)
	white := slices.Max(values)
	for i, v := range values {
		inverted[i] = white - v
	}
	want := greyOf(t, "a.tif", strip(96, 72, 16, 1, words(values)))
	got := greyOf(t, "a.tif", strip(96, 72, 16, 1, words(values), [2]uint32{262, 0}))
	for i, v := range want {
		require.EqualValues(t, 255-v, got[i])
	}
}

// The file's own range counts where it lies within the values, each end by itself.
func TestRangeOfTheFile(t *testing.T) {
	values := scene(96, 72)
	file := func(low, high float32) []byte {
		data := niftiOf(t, values, 96, 72)
		binary.LittleEndian.PutUint32(data[124:], math.Float32bits(high))
		binary.LittleEndian.PutUint32(data[128:], math.Float32bits(low))
		return data
	}
	plain := greyOf(t, "a.nii", niftiOf(t, values, 96, 72))
	for _, bogus := range [][2]float32{{0, 1e6}, {-1e6, 1e6}, {-500, -100}, {5000, 6000}, {0, 100}, {float32(math.NaN()), 100}} {
		assert.Equal(t, plain, greyOf(t, "a.nii", file(bogus[0], bogus[1])), "%v", bogus)
	}
	for _, c := range []struct {
		low, high float32
		cut       raster.Span
	}{{0, 1e6, raster.Span{}}, {100, 500, raster.Span{Low: 100, High: 500}}} {
		m, err := Decode("a.nii", file(c.low, c.high))
		require.NoError(t, err)
		assert.Equal(t, c.cut, m.Cut, "the range that the file cuts out")
	}
	got := greyOf(t, "a.nii", file(100, 500))
	for i, v := range values {
		require.InDelta(t, min(max((float64(v)-100)/400*255, 0), 255), got[i], 0.51)
	}
}

// Grey pictures of others, in 12 bits: a thousandth of the pixels moves the others by at most 2.
func TestFewPixelsDoNotDecideTheRange(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(vectors(t, "."), "..", "data", "*", "images", "*.png"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("no pictures: ../shared/data is missing")
	}
	for at := 0; at < len(paths); at += 97 {
		data, err := os.ReadFile(paths[at])
		require.NoError(t, err)
		m, err := Decode(paths[at], data)
		require.NoError(t, err)
		if m.W > 256 {
			continue
		}
		values := make([]uint16, m.W*m.H)
		for i := range values {
			values[i] = 16 * uint16(m.Pix[3*i])
		}
		want := greyOf(t, "a.png", greys["png"](t, values, m.W, m.H))
		order := make([]int, len(values)) // from dark to bright
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return int(values[a]) - int(values[b]) })
		few := len(values) / 1000
		for name, of := range map[string][]int{"darkest": order[:few], "brightest": order[len(order)-few:], "middle": order[len(order)/2:][:few]} {
			for _, v := range []uint16{0, 2000, 65535} {
				changed := slices.Clone(values)
				for _, i := range of {
					changed[i] = v
				}
				got := greyOf(t, "a.png", greys["png"](t, changed, m.W, m.H))
				for _, i := range of {
					got[i] = want[i]
				}
				assert.LessOrEqual(t, farthest(want, got), 2, "%s: the %s pixels become %d", paths[at], name, v)
			}
		}
	}
}
