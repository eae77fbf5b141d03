package imageio

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"io"
	"math"
	"math/bits"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostilePNG is a grey PNG of side × side zeros.
func hostilePNG(t *testing.T, side int) []byte {
	t.Helper()
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, image.NewGray(image.Rect(0, 0, side, side))))
	return data.Bytes()
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func deflater(w io.Writer) io.WriteCloser {
	z, _ := flate.NewWriter(w, flate.BestSpeed)
	return z
}
func gzipper(w io.Writer) io.WriteCloser {
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	return z
}

// lzwZeros is at least count zeros in the densest LZW of a TIFF: each code is the one that it makes.
func lzwZeros(count int) []byte {
	var out []byte
	held, kept := uint32(0), 0
	put := func(code, bits int) {
		for held, kept = held<<bits|uint32(code), kept+bits; kept >= 8; kept -= 8 {
			out = append(out, byte(held>>(kept-8)))
		}
	}
	for count > 0 {
		put(256, 9) // clear
		put(0, 9)
		count--
		for code := 258; code < 4094 && count > 0; code++ {
			put(code, bits.Len(uint(code+1)))
			count -= code - 256
		}
		put(256, 12)
	}
	put(257, 9)
	put(0, 7)
	return out
}

// strip is a TIFF of one strip of grey: w×h pixels of a number of bits, in a compression. more are
// entries beside or instead of those that this needs.
func strip(w, h, bits, compression uint32, data []byte, more ...[2]uint32) []byte {
	file := binary.LittleEndian.AppendUint32([]byte("II*\x00"), uint32(8+len(data)))
	file = append(file, data...)
	entries := [][2]uint32{{256, w}, {257, h}, {258, bits}, {259, compression}, {262, 1}, {273, 8}, {277, 1}, {278, h}, {279, uint32(len(data))}}
	entries = append(entries, more...)
	file = binary.LittleEndian.AppendUint16(file, uint16(len(entries)))
	for _, e := range entries {
		file = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(file, uint16(e[0])), 4)
		file = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(file, 1), e[1])
	}
	return append(file, 0, 0, 0, 0)
}

// explicit appends an element of a DICOM data set in explicit little endian, with a length of 32 bits.
func explicit(data []byte, group, element uint16, kind string, value []byte) []byte {
	data = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(data, group), element)
	data = binary.LittleEndian.AppendUint32(append(append(data, kind...), 0, 0), uint32(len(value)))
	return append(data, value...)
}

// deflatedDICOM is a DICOM file whose data set is deflated: what stands before a number of zeros.
func deflatedDICOM(t *testing.T, before []byte, count int64) []byte {
	t.Helper()
	const syntax = "1.2.840.10008.1.2.1.99"
	file := append(make([]byte, 128), "DICM\x02\x00\x10\x00UI"...)
	file = append(binary.LittleEndian.AppendUint16(file, uint16(len(syntax))), syntax...)
	var packed bytes.Buffer
	z := deflater(&packed)
	_, err := z.Write(before)
	require.NoError(t, err)
	_, err = io.CopyN(z, zeroReader{}, count)
	require.NoError(t, errors.Join(err, z.Close()))
	return append(file, packed.Bytes()...)
}

// dicomHead is what stands before the pixels of frames of 64×64 grey pixels of 8 bits, and the head
// of their element.
func dicomHead(frames string, length uint32) []byte {
	var data []byte
	word := func(element, v uint16) {
		data = binary.LittleEndian.AppendUint16(append(binary.LittleEndian.AppendUint16(append(data, 0x28, 0), element), "US\x02\x00"...), v)
	}
	word(0x02, 1)
	data = append(append(data, "\x28\x00\x08\x00IS"...), byte(len(frames)), 0)
	data = append(data, frames...)
	word(0x10, 64)
	word(0x11, 64)
	word(0x100, 8)
	word(0x101, 8)
	word(0x102, 7)
	word(0x103, 0)
	return binary.LittleEndian.AppendUint32(append(data, "\xe0\x7f\x10\x00OW\x00\x00"...), length)
}

// gzippedNIfTI is a volume of uint8 zeros, and extra bytes behind it.
func gzippedNIfTI(t *testing.T, w, h, d int16, extra int64) []byte {
	t.Helper()
	head := make([]byte, 352)
	binary.LittleEndian.PutUint32(head, 348)
	for i, n := range []int16{3, w, h, d} {
		binary.LittleEndian.PutUint16(head[40+2*i:], uint16(n))
	}
	binary.LittleEndian.PutUint16(head[70:], 2)
	binary.LittleEndian.PutUint32(head[108:], math.Float32bits(352))
	copy(head[344:], "n+1\x00")
	var packed bytes.Buffer
	z := gzipper(&packed)
	_, err := z.Write(head)
	require.NoError(t, err)
	_, err = io.CopyN(z, zeroReader{}, int64(w)*int64(h)*int64(d)+extra)
	require.NoError(t, errors.Join(err, z.Close()))
	return packed.Bytes()
}

// hugeWebP is a lossless WebP that declares a size, with one pixel's data.
func hugeWebP(t *testing.T, w, h uint32) []byte {
	data := onePixelWebP(t)
	binary.LittleEndian.PutUint32(data[21:], (w-1)|(h-1)<<14|data32(data[21:])&0xf0000000)
	return data
}

func data32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// TestHostileFiles: small files that declare or unpack to much are refused, or are read with at most
// 256 MiB at the peak and four times what they declare. All bytes that are allocated count, which is
// more than the peak. The time is ten times what a file may take.
func TestHostileFiles(t *testing.T) {
	const side = 7984 // 64 megapixels, just
	for name, c := range map[string]struct {
		data []byte
		want string // in the error; empty: it is read
	}{
		"CCITT, 65535×976 pixels from 125 bytes":     {strip(65535, 976, 1, 4, bytes.Repeat([]byte{0xff}, 125)), ""},
		"CCITT, cut short":                           {strip(65535, 976, 1, 4, bytes.Repeat([]byte{0xff}, 100)), "damaged"},
		"CCITT, more than 64 megapixels":             {strip(65535, 65535, 1, 4, bytes.Repeat([]byte{0xff}, 100)), "at most 64 megapixels are read, and 65535 pixels a side"},
		"LZW":                                        {strip(side, side, 8, 5, lzwZeros(side*side)), ""},
		"LZW of a smaller picture than unpacks":      {strip(64, 64, 8, 5, lzwZeros(side*side)), ""},
		"TIFF of 32 bits":                            {strip(side, side, 32, 8, make([]byte, 1000)), "it takes 491 MB to decode, and at most 256 MB"},
		"PNG of 64 megapixels":                       {hostilePNG(t, side), ""},
		"PNG of 900 megapixels":                      {hugePNG(30000, 30000), "too large"},
		"WebP with tables":                           {hugeWebP(t, 5000, 4000), "too large"},
		"WebP of one megapixel":                      {hugeWebP(t, 1000, 1000), ""},
		"DICOM, deflated, 256 MiB of frames":         {deflatedDICOM(t, dicomHead("65536 ", 256<<20), 256<<20), ""},
		"DICOM, deflated, 256 MiB for one frame":     {deflatedDICOM(t, dicomHead("1 ", 256<<20), 256<<20), ""},
		"DICOM, deflated, cut short":                 {deflatedDICOM(t, explicit(nil, 9, 0x1001, "OB", nil)[:8:8], 0), "cut short"},
		"DICOM, deflated, 64 MiB of another element": {deflatedDICOM(t, append(explicit(nil, 9, 0x1001, "OB", nil)[:8:8], 0, 0, 0, 4), 64<<20), "more than 16 MiB before its pixels"},
		"DICOM of 99999999 frames":                   {bytes.Replace(dicomFile(), []byte("IS\x02\x002 "), []byte("IS\x08\x0099999999"), 1), "99999999 frames"},
		"NIfTI, gzip, 250 MB of values":              {gzippedNIfTI(t, 1000, 1000, 250, 0), ""},
		"NIfTI, gzip, 300 MB of values":              {gzippedNIfTI(t, 1000, 1000, 300, 0), "more than 256 MiB"},
		"NIfTI, gzip, 256 MiB behind the values":     {gzippedNIfTI(t, 2, 2, 2, 256<<20), "more than 1 MiB follow"},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			begun, before := time.Now(), allocated()
			m, err := Decode("hostile", c.data)
			spent, bytes := time.Since(begun), allocated()-before
			t.Logf("%d bytes: %.1f MiB in %.2f s", len(c.data), float64(bytes)/(1<<20), spent.Seconds())
			declared := uint64(0)
			if info, err := Header("hostile", c.data); err == nil {
				declared = 3 * uint64(info.W) * uint64(info.H)
			}
			if c.want == "" {
				require.NoError(t, err)
				require.Len(t, m.Pix, int(declared))
			} else {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Contains(t, err.Error(), c.want)
				require.NotContains(t, err.Error(), "runtime error")
			}
			assert.LessOrEqual(t, bytes, uint64(MaxMemory))
			if !strings.Contains(c.want, "before its pixels") { // nothing is declared there
				assert.LessOrEqual(t, bytes, 4*declared+4*slack+4*uint64(len(c.data)))
			}
			assert.Less(t, spent, 10*time.Second)
		})
	}
}
