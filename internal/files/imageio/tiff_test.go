package imageio

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tiffFile is a TIFF: what stands before its directories, those, each with its entries (tag, kind,
// count, value), and what stands behind.
func tiffFile(before string, behind []byte, pages ...[][4]uint32) []byte {
	order, at := binary.LittleEndian, uint32(8+len(before))
	file := append(order.AppendUint32([]byte("II*\x00"), at), before...)
	for i, page := range pages {
		file = order.AppendUint16(file, uint16(len(page)))
		for _, e := range page {
			file = order.AppendUint16(order.AppendUint16(file, uint16(e[0])), uint16(e[1]))
			file = order.AppendUint32(order.AppendUint32(file, e[2]), e[3])
		}
		if at += uint32(6 + 12*len(page)); i == len(pages)-1 {
			at = 0
		}
		file = order.AppendUint32(file, at)
	}
	return append(file, behind...)
}

// greyPage is a page of 2×1 pixels of 8 bits.
func greyPage(at uint32, more ...[4]uint32) [][4]uint32 {
	return append(more, [4]uint32{256, 3, 1, 2}, [4]uint32{257, 3, 1, 1}, [4]uint32{258, 3, 1, 8}, [4]uint32{262, 3, 1, 1}, [4]uint32{273, 4, 1, at}, [4]uint32{279, 4, 1, 2})
}

// Pages that show another one in small, or are its mask, are none of a stack.
func TestTIFFReducedPages(t *testing.T) {
	const before = "\x01\x01\x02\x02\x03\x03"
	whole, multi := [4]uint32{254, 4, 1, 0}, [4]uint32{254, 4, 1, 2}
	reduced, mask, old := [4]uint32{254, 4, 1, 1}, [4]uint32{254, 4, 1, 4}, [4]uint32{255, 3, 1, 2}
	for name, c := range map[string]struct {
		kinds [3][4]uint32
		first []byte // the value of each page that counts
	}{
		"thumbnail first": {[3][4]uint32{reduced, whole, old}, []byte{2}},
		"a stack":         {[3][4]uint32{whole, multi, mask}, []byte{1, 2}},
		"of reduced ones": {[3][4]uint32{old, mask, reduced}, []byte{1, 2, 3}},
	} {
		data := tiffFile(before, nil, greyPage(8, c.kinds[0]), greyPage(10, c.kinds[1]), greyPage(12, c.kinds[2]))
		for i, v := range c.first {
			m, err := DecodeSlice("a.tif", data, i+1)
			require.NoError(t, err, name)
			assert.Equal(t, bytes.Repeat([]byte{v}, 6), m.Pix, name)
			assert.Equal(t, [2]int{i + 1, len(c.first)}, [2]int{m.Slice, m.Slices}, name)
		}
		_, err := DecodeSlice("a.tif", data, len(c.first)+1)
		assert.ErrorContains(t, err, "there is no slice", name)
	}
}

// ImageJ describes a large stack by one directory. The slices count that are there.
func TestTIFFStackOfOneDirectory(t *testing.T) {
	const text, directory = "ImageJ=1.53t\nimages=3\nslices=3\n\x00", 2 + 7*12 + 4
	describe := [4]uint32{270, 2, uint32(len(text)), 8}
	stack := tiffFile(text, []byte{1, 1, 2, 2, 3, 3, 4, 4}, greyPage(8+uint32(len(text))+directory, describe))
	behind := tiffFile(text+"\x07\x07", make([]byte, 20), greyPage(8+uint32(len(text)), describe))
	for name, c := range map[string]struct {
		data   []byte
		slices []byte
	}{
		"whole":                   {stack, []byte{1, 2, 3}},
		"cut short":               {stack[:len(stack)-3], []byte{1, 2}},
		"one slice":               {stack[:len(stack)-6], []byte{1}},
		"the directory is behind": {behind, []byte{7}},
		"by another program":      {bytes.Replace(stack, []byte("ImageJ="), []byte("ImageX="), 1), []byte{1}},
	} {
		for i, v := range c.slices {
			m, err := DecodeSlice("a.tif", c.data, i+1)
			require.NoError(t, err, name)
			assert.Equal(t, bytes.Repeat([]byte{v}, 6), m.Pix, name)
			assert.Equal(t, [2]int{i + 1, len(c.slices)}, [2]int{m.Slice, m.Slices}, name)
		}
		_, err := DecodeSlice("a.tif", c.data, len(c.slices)+1)
		assert.ErrorContains(t, err, "there is no slice", name)
	}
}

// The length of a strip may be 0: it runs as far as it needs.
func TestTIFFStripsOfNoLength(t *testing.T) {
	for name, data := range map[string][]byte{
		"plain":     strip(2, 1, 8, 1, []byte{5, 5}, [2]uint32{279, 0}),
		"PackBits":  strip(2, 1, 8, 32773, []byte{255, 5}, [2]uint32{279, 0}),
		"of a word": tiffFile("\x05\x05", nil, greyPage(8, [4]uint32{279, 3, 1, 0})),
	} {
		m, err := Decode("a.tif", data)
		require.NoError(t, err, name)
		assert.Equal(t, bytes.Repeat([]byte{5}, 6), m.Pix, name)
	}
	_, err := Decode("a.tif", strip(2, 1, 8, 1, []byte{5, 5}, [2]uint32{273, 1 << 20}, [2]uint32{279, 0}))
	assert.ErrorContains(t, err, "cut short")
}

// The samples of a JPEG of four components are those of the TIFF, whatever Adobe's mark says of
// inks.
func TestTIFFWithJPEGOfFour(t *testing.T) {
	picture := flatJPEG(0xc0, 0x11, 0x11, 0x11, 0x11)
	adobe := append([]byte("\xff\xd8\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"), picture[2:]...)
	r, g, b := color.CMYKToRGB(192, 193, 194, 195)
	for _, jpeg := range [][]byte{picture, adobe} {
		for photometric, want := range map[uint32][]uint8{5: {r, g, b}, 2: {scale(192, 195), scale(193, 195), scale(194, 195)}} {
			m, err := Decode("a.tif", strip(40, 24, 8, 7, jpeg, [2]uint32{262, photometric}, [2]uint32{277, 4}, [2]uint32{338, 2}))
			require.NoError(t, err)
			assert.Equal(t, bytes.Repeat(want, 40*24), m.Pix)
		}
	}
	_, err := Decode("a.tif", strip(40, 24, 8, 7, flatJPEG(0xc0, 0x11, 0x11, 0x11), [2]uint32{262, 5}, [2]uint32{277, 4}))
	assert.ErrorContains(t, err, "other colours than it declares")
}
