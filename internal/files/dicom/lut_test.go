package dicom

import (
	"bytes"
	"encoding/binary"
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withTable is testdata/grey.dcm, whose 12 bits have no window, with a sequence of one lookup table
// before its pixels. open leaves the lengths of sequence and item out.
func withTable(t *testing.T, sequence uint32, open bool, first int16, bits uint16, entries ...uint16) []byte {
	t.Helper()
	data := read(t, "grey.dcm")
	at := bytes.Index(data, []byte("\xe0\x7f\x10\x00OW"))
	require.Positive(t, at)
	word := binary.LittleEndian.AppendUint16
	descriptor := word(word(word([]byte("\x28\x00\x02\x30US\x06\x00"), uint16(len(entries))), uint16(first)), bits)
	values := binary.LittleEndian.AppendUint32([]byte("\x28\x00\x06\x30OW\x00\x00"), uint32(2*len(entries)))
	for _, v := range entries {
		values = word(values, v)
	}
	item := append(descriptor, values...)
	out := append(word(word(bytes.Clone(data[:at]), 0x28), uint16(sequence)), "SQ\x00\x00"...)
	if open {
		out = append(append(append(out, "\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff"...), item...),
			"\xfe\xff\x0d\xe0\x00\x00\x00\x00\xfe\xff\xdd\xe0\x00\x00\x00\x00"...)
	} else {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(8+len(item))), "\xfe\xff\x00\xe0"...)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(item))), item...)
	}
	return append(out, data[at:]...)
}

func greyOf(t *testing.T, data []byte) *image.Gray {
	t.Helper()
	f, err := Open(data, 0, nil)
	require.NoError(t, err)
	m, err := f.Decode()
	require.NoError(t, err)
	return m.(*image.Gray)
}

// A VOI lookup table makes grey of values, a modality lookup table other values.
func TestLookupTables(t *testing.T) {
	entries := make([]uint16, 4096)
	for v := range entries {
		entries[v] = uint16(1023 - v/4) // inverted, of 10 bits
	}
	for _, open := range []bool{false, true} {
		got := greyOf(t, withTable(t, windowLUT, open, 0, 10, entries...))
		for y := range height {
			for x := range width {
				assert.InDelta(t, 255*float64(1023-greyAt(x, y)/4)/1023, float64(got.GrayAt(x, y).Y), 0.5001, "%d, %d", x, y)
			}
		}
		least, most := uint16(4095), uint16(0)
		for _, v := range samples(1) {
			least, most = min(least, v/4), max(most, v/4)
		}
		got = greyOf(t, withTable(t, modalityLUT, open, 0, 10, entries...))
		for y := range height {
			for x := range width {
				assert.InDelta(t, 255*float64(most-greyAt(x, y)/4)/float64(most-least), float64(got.GrayAt(x, y).Y), 0.5001, "%d, %d", x, y)
			}
		}
	}
	got := greyOf(t, withTable(t, windowLUT, false, 1000, 8, 0, 100, 200)) // 1000, 1001 and 1002, and what lies beyond
	for y := range height {
		for x := range width {
			want := uint8(255) // the largest entry is white
			if v := greyAt(x, y); v <= 1000 {
				want = 0
			} else if v == 1001 {
				want = 128
			}
			assert.Equal(t, want, got.GrayAt(x, y).Y)
		}
	}
	for name, data := range map[string][]byte{
		"cut short":  bytes.Replace(withTable(t, windowLUT, false, 0, 16, 1, 2), []byte("US\x06\x00\x02\x00"), []byte("US\x06\x00\x03\x00"), 1),
		"is missing": bytes.Replace(withTable(t, windowLUT, false, 0, 16, 1, 2), []byte("\x28\x00\x02\x30US"), []byte("\x28\x00\x03\x30US"), 1),
	} {
		_, err := Open(data, 0, nil)
		assert.ErrorContains(t, err, name)
	}
}

type noJPEG struct{}

func (noJPEG) Memory([]byte, int, int) int64                { return 0 }
func (noJPEG) Decode([]byte, int, int) (image.Image, error) { panic("no JPEG") }

// A JPEG of 12 bits, by dcmtk 3.6.7 (dcmcjpeg +ee), is refused by name.
func TestJPEGOfTwelveBits(t *testing.T) {
	f, err := Open(read(t, "grey12.dcm"), 0, noJPEG{})
	require.NoError(t, err)
	_, err = f.Decode()
	assert.EqualError(t, err, "JPEG of 12 bits")
}
