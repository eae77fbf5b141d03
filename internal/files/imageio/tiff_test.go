package imageio

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image/color"
	"math"
	"strconv"
	"strings"
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

// numbers is a TIFF of one row of grey samples, which are written as kind says: u8, u16, i16, u32,
// i32, f32 or f64. nodata is GDAL's value of pixels without data, "" for none.
func numbers(kind, nodata string, photometric uint32, values ...float64) []byte {
	var data []byte
	bits := map[byte]map[string]uint32{'u': {"u8": 8, "u16": 16, "u32": 32}, 'i': {"i16": 16, "i32": 32}, 'f': {"f32": 32, "f64": 64}}[kind[0]][kind]
	for _, v := range values {
		switch {
		case kind == "f64":
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		case kind == "f32":
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		default:
			data = append(data, binary.LittleEndian.AppendUint32(nil, uint32(int64(v)))[:bits/8]...)
		}
	}
	format := map[byte]uint32{'u': 1, 'i': 2, 'f': 3}[kind[0]]
	page := [][4]uint32{
		{256, 3, 1, uint32(len(values))}, {257, 3, 1, 1}, {258, 3, 1, bits}, {262, 3, 1, photometric}, {273, 4, 1, 8}, {279, 4, 1, uint32(len(data))}, {339, 3, 1, format},
	}
	if nodata != "" {
		page = append(page, [4]uint32{42113, 2, uint32(len(nodata) + 5), uint32(8 + len(data))})
	}
	return tiffFile(string(data)+nodata+"\x00\x00\x00\x00\x00", nil, page)
}

// Pixels without data are black and take no part in the range, whatever the type of samples is.
func TestTIFFNoData(t *testing.T) {
	for kind, nodata := range map[string][]string{
		"u8": {"255", "0", "7"}, "u16": {"65535", "0", "65535.0"}, "i16": {"-32768", "-9999", "32767"}, "u32": {"4294967295"},
		"i32": {"-2147483648", "-9999"}, "f32": {"-3.4028234663852886e+38", "-3.40282e+38", "-9999", " 1e30 ", "nan"}, "f64": {"-1.7976931348623157e+308", "-9999"},
	} {
		for _, text := range nodata {
			none, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(t, err)
			without, with, holes := []float64{}, []float64{}, 0
			for i := range 4000 {
				if v := float64(100 + i%100); i%5 != 0 {
					without, with = append(without, v), append(with, v)
				} else {
					with, holes = append(with, none), holes+1
				}
			}
			for _, photometric := range []uint32{0, 1} {
				want, got := greyOf(t, "a.tif", numbers(kind, "", photometric, without...)), greyOf(t, "a.tif", numbers(kind, text, photometric, with...))
				for i, v := range got {
					if i%5 == 0 {
						require.Zero(t, v, "%s, %q", kind, text)
						continue
					}
					require.InDelta(t, want[0], v, 4, "%s, %q at %d", kind, text, i)
					want = want[1:]
				}
			}
		}
	}
	plain := greyOf(t, "a.tif", numbers("u8", "none", 1, 1, 2, 255))
	assert.Equal(t, []uint8{1, 2, 255}, plain, "a text that is no number")
	colour := [][4]uint32{{256, 3, 1, 2}, {257, 3, 1, 1}, {258, 3, 1, 8}, {262, 3, 1, 2}, {273, 4, 1, 8}, {277, 3, 1, 3}, {279, 4, 1, 6}, {42113, 2, 4, 0x353532}}
	m, err := Decode("a.tif", tiffFile("\xff\xff\xff\xff\x05\x06", nil, colour))
	require.NoError(t, err)
	assert.Equal(t, []uint8{0, 0, 0, 255, 5, 6}, m.Pix, "a colour has no data if no sample has any")
}

// What libtiff reads is not called damaged: any number of rows in the only strip, and lengths that are
// missing or wrong. A file that ends too early is.
func TestTIFFStripsOfAnyNumber(t *testing.T) {
	picture := []byte{1, 2, 3, 4, 5, 6}
	for name, more := range map[string][]([2]uint32){
		"no rows": {{278, 0}}, "all rows there are": {{278, math.MaxUint32}}, "more rows": {{278, 100}},
		"a short length": {{279, 2}}, "a long length": {{279, 1 << 30}}, "no rows, no length": {{278, 0}, {279, 0}},
	} {
		data := strip(2, 3, 8, 1, picture, more...)
		m, err := Decode("a.tif", data)
		if assert.NoError(t, err, name) {
			assert.Equal(t, []uint8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}, m.Pix, name)
		}
		cut := strip(200, 300, 8, 1, picture, more...)
		_, err = Decode("a.tif", cut)
		assert.ErrorIs(t, err, ErrDamaged, name)
	}
	var packed [3]bytes.Buffer
	for i := range packed {
		z := zlib.NewWriter(&packed[i])
		z.Write(picture[2*i:][:2])
		require.NoError(t, z.Close())
	}
	for compression, strips := range map[uint32][]string{
		1: {"\x01\x02", "\x03\x04", "\x05\x06"}, 8: {packed[0].String(), packed[1].String(), packed[2].String()}, 32773: {"\x01\x01\x02", "\x01\x03\x04", "\x01\x05\x06"},
	} {
		offsets, at := []byte{}, uint32(8+12)
		for _, s := range strips {
			offsets, at = binary.LittleEndian.AppendUint32(offsets, at), at+uint32(len(s))
		}
		page := [][4]uint32{{256, 3, 1, 2}, {257, 3, 1, 3}, {258, 3, 1, 8}, {259, 3, 1, compression}, {262, 3, 1, 1}, {273, 4, 3, 8}, {278, 3, 1, 1}}
		m, err := Decode("a.tif", tiffFile(string(offsets)+strings.Join(strips, ""), nil, page))
		if assert.NoError(t, err, "compression %d", compression) {
			assert.Equal(t, []uint8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}, m.Pix, "no lengths, compression %d", compression)
		}
	}
}

// OME's XML says how large a pixel is, also on later pages. A TIFF's resolution does not.
func TestOMEPixelSize(t *testing.T) {
	const name = ` xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"`
	of := func(xml string) [2]float64 {
		text := `<?xml version="1.0"?><OME` + name + `>` + xml + `</OME>`
		describe, at := [4]uint32{270, 2, uint32(len(text)), 8}, 8+uint32(len(text))
		m, err := DecodeSlice("a.ome.tif", tiffFile(text+"\x01\x02\x03\x04", nil, greyPage(at, describe), greyPage(at+2)), 2)
		require.NoError(t, err)
		return m.PixelSize()
	}
	pixels := func(attributes string) string {
		return `<Image ID="Image:0"><Pixels ID="Pixels:0" ` + attributes + `/></Image>`
	}
	for attributes, want := range map[string][2]float64{
		`PhysicalSizeX="0.5" PhysicalSizeY="0.25"`:                                                         {0.0005, 0.00025},
		`PhysicalSizeXUnit="nm" PhysicalSizeX="500" PhysicalSizeY="0.25" PhysicalSizeYUnit="µm" SizeX="2"`: {0.0005, 0.00025},
		`PhysicalSizeX='1' PhysicalSizeXUnit='&#181;m' PhysicalSizeY='1' PhysicalSizeYUnit="mm"`:           {0.001, 1},
		`PhysicalSizeX="1" PhysicalSizeXUnit="pixel" PhysicalSizeY="1" PhysicalSizeYUnit="pixel"`:          {},
		`PhysicalSizeX="1" PhysicalSizeXUnit="reference frame" PhysicalSizeY="1"`:                          {},
		`PhysicalSizeX="1"`: {}, `PhysicalSizeX="0" PhysicalSizeY="0"`: {}, `PhysicalSizeX="-1" PhysicalSizeY="1"`: {},
		`PhysicalSizeX="NaN" PhysicalSizeY="NaN"`: {}, `PhysicalSizeX="a" PhysicalSizeY="b"`: {}, `PhysicalSizeX="1e9" PhysicalSizeY="1e9"`: {}, `SizeX="2"`: {}, `PhysicalSizeX=`: {},
	} {
		got := of(pixels(attributes))
		assert.InDeltaSlice(t, want[:], got[:], 1e-12, attributes)
	}
	half := pixels(`PhysicalSizeX="0.5" PhysicalSizeY="0.5"`)
	assert.NotZero(t, of(half+half))
	assert.Zero(t, of(half+pixels(`PhysicalSizeX="1" PhysicalSizeY="1"`)), "which picture is it?")
	assert.Zero(t, of(half+pixels(``)), "which picture is it?")
	assert.NotZero(t, of(strings.ReplaceAll(half, "<", "<OME:")))
}
