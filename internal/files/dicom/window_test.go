package dicom

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom/elements"
)

// with is a file of testdata with more elements before its pixels.
func with(t *testing.T, name string, more func(*elements.Set)) []byte {
	t.Helper()
	data := read(t, name)
	at := bytes.Index(data, []byte("\xe0\x7f\x10\x00OW"))
	require.Positive(t, at)
	var e elements.Set
	more(&e)
	return append(append(bytes.Clone(data[:at]), e...), data[at:]...)
}

// Windows follow their function, also where they are narrower than 1. Source: PS3.3 C.11.2.1.2.1
// and C.11.2.1.3.
func TestWindows(t *testing.T) {
	linear := func(c, w float64) func(float64) float64 {
		return func(v float64) float64 { return ((v-(c-0.5))/(w-1) + 0.5) * 255 }
	}
	exact := func(c, w float64) func(float64) float64 {
		return func(v float64) float64 { return ((v-c)/w + 0.5) * 255 }
	}
	sigmoid := func(v float64) float64 { return 255 / (1 + math.Exp(-4*(v-1000)/600)) }
	for _, c := range []struct {
		centre, width, slope float64
		function             string
		want                 func(float64) float64
	}{
		{1000, 600, 1, "", linear(1000, 600)},
		{1000, 600, 1, "LINEAR", linear(1000, 600)},
		{1000, 600, 1, "LINEAR_EXACT", exact(1000, 600)},
		{1, 0.5, 0.001, "LINEAR_EXACT", exact(1, 0.5)},
		{1, 0.5, 0.001, "LINEAR", exact(1, 0.5)},
		{1000, 600, 1, "SIGMOID", sigmoid},
	} {
		got := greyOf(t, with(t, "grey.dcm", func(e *elements.Set) {
			e.Decimals(0x00281050, c.centre)
			e.Decimals(0x00281051, c.width)
			e.Decimals(0x00281053, c.slope)
			e.Text(0x00281056, "CS", c.function)
		}))
		for y := range height {
			for x := range width {
				want := min(max(c.want(c.slope*float64(greyAt(x, y))), 0), 255)
				assert.InDelta(t, want, float64(got.GrayAt(x, y).Y), 0.501, "%s %v: %d, %d", c.function, c.width, x, y)
			}
		}
	}
}

// Padding is black, in an inverted picture too, and takes no part in the range of the rest.
func TestPadding(t *testing.T) {
	most := uint16(0)
	for _, v := range samples(1) {
		if v < 3000 {
			most = max(most, v)
		}
	}
	for _, inverted := range []bool{false, true} {
		data := with(t, "grey.dcm", func(e *elements.Set) {
			e.Words(0x00280120, 4095)
			e.Words(0x00280121, 3000)
		})
		if inverted {
			data = bytes.Replace(data, []byte("MONOCHROME2"), []byte("MONOCHROME1"), 1)
		}
		got := greyOf(t, data)
		for y := range height {
			for x := range width {
				want := 255 * float64(greyAt(x, y)) / float64(most)
				if inverted {
					want = 255 - want
				}
				if greyAt(x, y) >= 3000 {
					want = 0
				}
				assert.InDelta(t, want, float64(got.GrayAt(x, y).Y), 0.501, "%d, %d", x, y)
			}
		}
	}
}

// A palette in segments has entries, lines between them, and repetitions. Source: PS3.3 C.7.9.2.
func TestSegmentedPalette(t *testing.T) {
	word := func(values ...uint16) []uint16 { return values }
	segments := word(0, 2, 0, 0x1000, 1, 4, 0x5000, 2, 1, 0, 0)
	got, err := segmented(segments, true, 8)
	require.NoError(t, err)
	assert.Equal(t, []uint16{0, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0, 0x1000}, got)
	got, err = segmented(word(0, 2, 7, 9, 1, 2, 5, 2, 1, 0, 0, 0, 0), false, 6)
	require.NoError(t, err)
	assert.Equal(t, []uint16{7, 9, 7, 5, 7, 9}, got)
	for name, wrong := range map[string][]uint16{
		"a line from nowhere": word(1, 4, 9), "of no length": word(0, 0, 1), "of another kind": word(3, 1, 1), "cut short": word(0, 9, 1),
		"that repeats itself": word(0, 1, 5, 2, 1, 6, 0), "that repeats what follows": word(0, 1, 5, 2, 1, 600, 0), "at half a word": word(0, 1, 5, 2, 1, 1, 0),
	} {
		_, err = segmented(wrong, true, 8)
		assert.ErrorContains(t, err, "wrong", name)
	}
	data := with(t, "grey.dcm", func(e *elements.Set) {
		for c := range uint32(3) {
			e.Words(0x00281101+c, 8, 30, 16)
		}
		for c := range uint32(3) {
			var value []byte
			for _, v := range segments {
				value = binary.LittleEndian.AppendUint16(value, v)
			}
			e.Bytes(0x00281221+c, "OB", value)
		}
	})
	f, err := Open(bytes.Replace(data, []byte("CS\x0c\x00MONOCHROME2 "), []byte("CS\x0e\x00PALETTE COLOR "), 1), 0, nil)
	require.NoError(t, err)
	m, err := f.Decode()
	require.NoError(t, err)
	assert.Equal(t, color.NRGBA{A: 255}, m.At(0, 0))
	assert.Equal(t, color.NRGBA{0x10, 0x10, 0x10, 255}, m.At(1, 0), "37")
}
