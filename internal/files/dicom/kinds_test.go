package dicom

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// element is one of a file that a test makes. Its value is bytes, a text, or numbers that are
// written as kind says.
type element struct {
	tag   uint32
	kind  string
	value any
}

// fileOf makes a file of explicit values. Elements may be given again: the last one counts.
func fileOf(order binary.AppendByteOrder, all ...element) []byte {
	syntax := map[binary.AppendByteOrder]string{binary.LittleEndian: "1.2.840.10008.1.2.1", binary.BigEndian: "1.2.840.10008.1.2.2"}[order]
	return append([]byte("\x02\x00\x10\x00UI\x14\x00"+syntax+"\x00"), dataSet(order, all...)...)
}

func dataSet(order binary.AppendByteOrder, all ...element) (out []byte) {
	last := map[uint32]element{}
	for _, e := range all {
		last[e.tag] = e
	}
	all = slices.SortedFunc(func(yield func(element) bool) {
		for _, e := range last {
			yield(e)
		}
	}, func(a, b element) int { return int(a.tag>>1) - int(b.tag>>1) })
	for _, e := range all {
		value, pad := []byte(nil), byte(' ')
		switch v := e.value.(type) {
		case string:
			value = []byte(v)
		case []byte:
			value, pad = v, 0
		case []float64:
			for _, n := range v {
				switch e.kind {
				case "US", "SS":
					value = order.AppendUint16(value, uint16(int(n)))
				case "UL", "SL":
					value = order.AppendUint32(value, uint32(int(n)))
				case "FL":
					value = order.AppendUint32(value, math.Float32bits(float32(n)))
				case "FD":
					value = order.AppendUint64(value, math.Float64bits(n))
				default:
					value = fmt.Appendf(value, "%v\\", n)
				}
			}
			value = bytes.TrimSuffix(value, []byte(`\`))
		}
		if len(value)%2 == 1 {
			value = append(bytes.Clone(value), pad)
		}
		out = append(order.AppendUint16(order.AppendUint16(out, uint16(e.tag>>16)), uint16(e.tag)), e.kind...)
		if e.kind == "OB" || e.kind == "OW" || e.kind == "SQ" {
			out = order.AppendUint32(append(out, 0, 0), uint32(len(value)))
		} else {
			out = order.AppendUint16(out, uint16(len(value)))
		}
		out = append(out, value...)
	}
	return out
}

// plain are the elements of a picture of 8-bit pixels.
func plain(w, h, samples int, kind string, pixels []byte) []element {
	word := func(v int) []float64 { return []float64{float64(v)} }
	photometric := map[int]string{1: "MONOCHROME2", 3: "RGB"}[samples]
	return []element{
		{0x00280002, "US", word(samples)}, {0x00280004, "CS", photometric}, {0x00280010, "US", word(h)}, {0x00280011, "US", word(w)},
		{0x00280100, "US", word(8)}, {0x00280101, "US", word(8)}, {0x00280102, "US", word(7)}, {0x00280103, "US", word(0)},
		{pixelData, kind, pixels},
	}
}

// Numbers count whatever value representation they are written in.
func TestNumbersOfOtherKinds(t *testing.T) {
	window := func(kind string) []byte {
		return greyOf(t, fileOf(binary.LittleEndian, append(plain(4, 1, 1, "OB", []byte{0, 100, 120, 255}),
			element{0x00281050, kind, []float64{110}}, element{0x00281051, kind, []float64{51}})...)).Pix
	}
	want := window("DS")
	require.Equal(t, []byte{0, 79, 181, 255}, want)
	for _, kind := range []string{"FD", "FL", "US", "SS", "UL", "SL", "IS", "LO"} {
		assert.Equal(t, want, window(kind), "a window in %s", kind)
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, kind := range []string{"IS", "DS", "UL", "SS", "FD"} {
			for _, tag := range []uint32{0x00280002, 0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102, 0x00280103} {
				all := plain(3, 2, 1, "OB", []byte{1, 2, 3, 4, 5, 6})
				i := slices.IndexFunc(all, func(e element) bool { return e.tag == tag })
				all[i].kind = kind
				assert.Equal(t, []byte{1, 2, 3, 4, 5, 6}, greyOf(t, fileOf(order, all...)).Pix, "%08x in %s", tag, kind)
			}
		}
	}
	for _, wrong := range []element{{0x00280010, "IS", "two"}, {0x00280010, "DS", "2.5"}, {0x00280010, "FD", []float64{math.NaN()}}, {0x00280010, "SL", []float64{1e6}}} {
		_, err := Open(fileOf(binary.LittleEndian, append(plain(3, 2, 1, "OB", make([]byte, 6)), wrong)...), 0, nil)
		assert.ErrorContains(t, err, "a size of 3×0 pixels", "%v", wrong)
	}
	f, err := Open(fileOf(binary.BigEndian, append(plain(1, 1, 1, "OB", []byte{1, 2, 3, 4}), element{0x00280008, "US", []float64{3}})...), 3, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 3}, []int{f.Slice, f.Slices}, "a number of frames in US")
}

// A big-endian file has the bytes of words in pairs, whatever frame they are of.
func TestBytesInWords(t *testing.T) {
	pixels := []byte{10, 20, 30, 40, 50, 60, 70, 80, 90, 0}
	pairs := []byte{20, 10, 40, 30, 60, 50, 80, 70, 0, 90}
	two := element{0x00280008, "IS", "3"}
	for slice, want := range [][]byte{1: {10, 20, 30}, 2: {40, 50, 60}, 3: {70, 80, 90}} {
		if want == nil {
			continue
		}
		for kind, value := range map[string][]byte{"OB": pixels, "OW": pairs} {
			m := picture(t, fileOf(binary.BigEndian, append(plain(3, 1, 1, kind, value), two)...), slice)
			assert.Equal(t, want, pixelsOf(t, m), "%s, frame %d", kind, slice)
		}
		m := picture(t, fileOf(binary.LittleEndian, append(plain(3, 1, 1, "OW", pixels), two)...), slice)
		assert.Equal(t, want, pixelsOf(t, m), "little-endian, frame %d", slice)
	}
	bit := append(plain(16, 1, 1, "OW", []byte{0xff, 1}), element{0x00280100, "US", []float64{1}}, element{0x00280101, "US", []float64{1}}, element{0x00280102, "US", []float64{0}})
	assert.Equal(t, append([]byte{255, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{255}, 8)...), greyOf(t, fileOf(binary.BigEndian, bit...)).Pix, "single bits")
	palette := append(plain(4, 1, 1, "OB", []byte{0, 1, 2, 3}), element{0x00280004, "CS", "PALETTE COLOR"})
	for c := range uint32(3) {
		palette = append(palette, element{0x00281101 + c, "US", []float64{4, 0, 8}}, element{0x00281201 + c, "OW", []byte{20, 10, 40, 30}})
	}
	assert.Equal(t, []byte{10, 20, 30, 40}, pixelsOf(t, picture(t, fileOf(binary.BigEndian, palette...), 0)), "a palette")
}

// A window, or a lookup table in its place, that shows a picture all black or all white is none.
func TestWindowOfOtherValues(t *testing.T) {
	values := make([]byte, 2*2048)
	for i := range 2048 {
		binary.LittleEndian.PutUint16(values[2*i:], uint16(1000+i%500))
	}
	deep := func(more ...element) []byte {
		all := append(plain(64, 32, 1, "OW", values), element{0x00280100, "US", []float64{16}}, element{0x00280101, "US", []float64{16}}, element{0x00280102, "US", []float64{15}})
		return greyOf(t, fileOf(binary.LittleEndian, append(all, more...)...)).Pix
	}
	window := func(centre, width float64, function string) []byte {
		return deep(element{0x00281050, "DS", []float64{centre}}, element{0x00281051, "DS", []float64{width}}, element{0x00281056, "CS", function})
	}
	table := func(first float64) []byte {
		entries := []float64{0, 100, 200, 300}
		item := dataSet(binary.LittleEndian, element{lutDescriptor, "US", []float64{4, first, 16}}, element{lutData, "US", entries})
		return deep(element{windowLUT, "SQ", append(binary.LittleEndian.AppendUint32([]byte{0xfe, 0xff, 0, 0xe0}, uint32(len(item))), item...)})
	}
	own := deep()
	require.Greater(t, slices.Max(own)-slices.Min(own), uint8(50))
	assert.Equal(t, own, window(5000, 1000, "LINEAR"), "above")
	assert.Equal(t, own, window(100, 100, "LINEAR_EXACT"), "below")
	assert.Equal(t, own, window(1000-400, 800, "LINEAR"), "it ends at the least value")
	assert.Equal(t, own, window(9000, 100, "SIGMOID"), "a sigmoid")
	assert.Equal(t, own, table(5000), "a lookup table above")
	assert.Equal(t, own, table(10), "a lookup table below")
	values[0], values[1] = 0, 0 // a pixel below all windows changes nothing
	assert.Equal(t, deep(), window(500, 100, "LINEAR"), "between two kinds of values")
	assert.NotEqual(t, own, window(1250, 10, "LINEAR"), "a narrow window within")
	shown := window(1250, 1, "LINEAR")
	assert.Equal(t, []byte{0, 255}, slices.Compact(slices.Sorted(slices.Values(shown))), "a threshold")
	assert.Equal(t, byte(255), slices.Max(table(1000)), "the largest entry is white")
}

// Millimetres are those of the body. What no pixel can have, or the file contradicts, is none.
func TestSpacing(t *testing.T) {
	for _, c := range []struct {
		what string
		want [2]float64
		more []element
	}{
		{"rows come first", [2]float64{0.25, 0.5}, []element{{pixelSpacing, "DS", `0.5\0.25`}}},
		{"in FD", [2]float64{0.25, 0.5}, []element{{pixelSpacing, "FD", []float64{0.5, 0.25}}}},
		{"zero", [2]float64{}, []element{{pixelSpacing, "DS", `0\0`}}},
		{"one is zero", [2]float64{}, []element{{pixelSpacing, "DS", `0.5\0`}}},
		{"negative", [2]float64{}, []element{{pixelSpacing, "DS", `-0.5\0.5`}}},
		{"no number", [2]float64{}, []element{{pixelSpacing, "DS", `NaN\NaN`}}},
		{"NaN in FD", [2]float64{}, []element{{pixelSpacing, "FD", []float64{math.NaN(), 1}}}},
		{"infinite", [2]float64{}, []element{{pixelSpacing, "DS", `Inf\Inf`}}},
		{"huge", [2]float64{}, []element{{pixelSpacing, "DS", `5000\5000`}}},
		{"tiny", [2]float64{}, []element{{pixelSpacing, "DS", `1e-9\1e-9`}}},
		{"text", [2]float64{}, []element{{pixelSpacing, "DS", `0.5mm\0.5mm`}}},
		{"one number", [2]float64{}, []element{{pixelSpacing, "DS", `0.5`}}},
		{"three numbers", [2]float64{}, []element{{pixelSpacing, "DS", `0.5\0.5\1`}}},
		{"empty", [2]float64{}, []element{{pixelSpacing, "DS", ``}}},
		{"at the detector", [2]float64{}, []element{{0x00181164, "DS", `0.1\0.1`}}},
		{"magnified", [2]float64{0.1, 0.05}, []element{{0x00181114, "DS", "2"}, {0x00181164, "DS", `0.1\0.2`}}},
		{"a factor below 1", [2]float64{}, []element{{0x00181114, "DS", "0.5"}, {0x00181164, "DS", `0.1\0.1`}}},
		{"a factor of 0", [2]float64{}, []element{{0x00181114, "DS", "0"}, {0x00181164, "DS", `0.1\0.1`}}},
		{"equal to the detector's", [2]float64{}, []element{{0x00181164, "DS", `0.1\0.1`}, {pixelSpacing, "DS", `0.10\0.10`}}},
		{"equal, magnified", [2]float64{0.05, 0.05}, []element{{0x00181114, "DS", "2"}, {0x00181164, "DS", `0.1\0.1`}, {pixelSpacing, "DS", `0.1\0.1`}}},
		{"equal, calibrated", [2]float64{0.1, 0.1}, []element{{0x00181164, "DS", `0.1\0.1`}, {pixelSpacing, "DS", `0.1\0.1`}, {0x00280a02, "CS", "FIDUCIAL"}}},
		{"not equal", [2]float64{0.08, 0.08}, []element{{0x00181114, "DS", "2"}, {0x00181164, "DS", `0.1\0.1`}, {pixelSpacing, "DS", `0.08\0.08`}}},
		{"of a scanned film", [2]float64{}, []element{{0x00182010, "DS", `0.1\0.1`}}},
		{"of the frame", [2]float64{0.25, 0.5}, []element{{frameGroups, "SQ", measures(`0.5\0.25`)}}},
		{"of all frames", [2]float64{0.25, 0.5}, []element{{sharedGroups, "SQ", measures(`0.5\0.25`)}}},
		{"two that differ", [2]float64{}, []element{{sharedGroups, "SQ", measures(`0.5\0.5`)}, {frameGroups, "SQ", measures(`0.7\0.7`)}}},
		{"two that agree", [2]float64{0.5, 0.5}, []element{{pixelSpacing, "DS", `0.5\0.5`}, {sharedGroups, "SQ", measures(`0.5\0.5`)}}},
	} {
		f, err := Open(fileOf(binary.LittleEndian, append(plain(2, 1, 1, "OB", []byte{1, 2}), c.more...)...), 0, nil)
		require.NoError(t, err, c.what)
		assert.Equal(t, c.want, f.Spacing, c.what)
		assert.Equal(t, [2]float64{c.want[1], c.want[0]}, f.Header.(*Header).spacing, "of a DICOM SEG: %s", c.what)
	}
}

// measures is the item of a frame, with a sequence of pixel measures.
func measures(spacing string) []byte {
	item := func(set []byte) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte{0xfe, 0xff, 0, 0xe0}, uint32(len(set))), set...)
	}
	return item(dataSet(binary.LittleEndian, element{0x00289110, "SQ", item(dataSet(binary.LittleEndian, element{pixelSpacing, "DS", spacing}))}))
}

// Some programs put a head of zlib or of gzip before deflated data.
func TestHeadsOfDeflatedData(t *testing.T) {
	set := dataSet(binary.LittleEndian, plain(3, 2, 1, "OB", []byte{1, 2, 3, 4, 5, 6})...)
	for name, writer := range map[string]func(io.Writer) io.WriteCloser{
		"none": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 9); return z },
		"zlib": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	} {
		file := bytes.NewBufferString("\x02\x00\x10\x00UI\x16\x001.2.840.10008.1.2.1.99")
		z := writer(file)
		z.Write(set)
		require.NoError(t, z.Close())
		assert.Equal(t, []byte{1, 2, 3, 4, 5, 6}, greyOf(t, file.Bytes()).Pix, name)
	}
}

// The tiles of a whole slide make one picture. A tile alone is never taken for it.
func TestSlide(t *testing.T) {
	const w, h, across, down = 5, 3, 2, 2 // tiles of 3 × 2 pixels, whose last ones exceed the picture
	want, tiles := make([]byte, w*h), []byte(nil)
	for plane := range 2 {
		for tile := range across * down {
			for i := range 3 * 2 {
				x, y := tile%across*3+i%3, tile/across*2+i/3
				v := byte(1 + plane*100 + y*10 + x)
				if tiles = append(tiles, v, v, v); plane == 1 && x < w && y < h {
					want[y*w+x] = v
				}
			}
		}
	}
	matrix := []element{
		{0x00209311, "CS", "TILED_FULL"}, {0x00280008, "IS", "8"}, {0x00480006, "UL", []float64{w}}, {0x00480007, "UL", []float64{h}},
	}
	all := append(plain(3, 2, 3, "OB", tiles), matrix...)
	f, err := Open(fileOf(binary.LittleEndian, all...), 0, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{w, h, 2, 2}, []int{f.W, f.H, f.Slice, f.Slices})
	m, err := f.Decode()
	require.NoError(t, err)
	assert.Equal(t, want, pixelsOf(t, m))
	assert.ErrorContains(t, f.Header.(*Header).Check(), "a whole slide")
	for name, c := range map[string]struct {
		slice int
		more  element
	}{
		"in their order (TILED_FULL)":       {0, element{0x00209311, "CS", "TILED_SPARSE"}},
		"only in colour and":                {0, element{0x00209311, "CS", ""}},
		"it has 7 tiles":                    {0, element{0x00280008, "IS", "7"}},
		"this is a whole slide of 5×3":      {0, element{0x00209311, "CS", "3D"}},
		"the file has 2 pictures":           {3, element{0x00280008, "IS", "8"}},
		"it has 8 tiles, of which a pictur": {0, element{0x00480006, "UL", []float64{50}}},
	} {
		_, err := Open(fileOf(binary.LittleEndian, append(all, c.more)...), c.slice, nil)
		assert.ErrorContains(t, err, name)
	}
	_, err = Open(fileOf(binary.LittleEndian, append(plain(3, 2, 1, "OB", tiles), matrix...)...), 0, nil)
	assert.ErrorContains(t, err, "only in colour")
	f, err = Open(fileOf(binary.LittleEndian, append(all, element{0x00480006, "UL", []float64{200_000}})...), 0, nil)
	require.NoError(t, err)
	assert.Equal(t, 200_000, f.W, "the size is refused as that of other pictures")
}
