package imageio

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bitmapFile is a BMP of 2×2 pixels with a header of a size: fields from its width on, then what
// follows it, a gap, and rows.
func bitmapFile(size uint32, height int32, bits uint16, compression uint32, follows []byte, gap int, rows ...byte) []byte {
	order, header := binary.LittleEndian, make([]byte, size)
	order.PutUint32(header, size)
	if size == 12 {
		order.PutUint16(header[4:], 2)
		order.PutUint16(header[6:], uint16(height))
		order.PutUint16(header[8:], 1)
		order.PutUint16(header[10:], bits)
	} else {
		order.PutUint32(header[4:], 2)
		order.PutUint32(header[8:], uint32(height))
		order.PutUint16(header[12:], 1)
		order.PutUint16(header[14:], bits)
		if size > 16 {
			order.PutUint32(header[16:], compression)
		}
	}
	if size >= 56 && bits == 32 {
		copy(header[40:], masks32)
	}
	file := append(make([]byte, 10), order.AppendUint32(nil, 14+size+uint32(len(follows)+gap))...)
	copy(file, "BM")
	file = append(append(append(file, header...), follows...), make([]byte, gap)...)
	return append(file, rows...)
}

var masks32 = []byte{0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0, 0, 0, 0, 255}

func TestBMPHeaders(t *testing.T) {
	rows24 := []byte{1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0}
	up, down := []uint8{9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4}, []uint8{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}
	rows32 := func(alpha ...byte) (rows []byte) {
		for i, a := range alpha {
			rows = append(rows, byte(3*i+1), byte(3*i+2), byte(3*i+3), a)
		}
		return rows
	}
	colours := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	wide := []byte{1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0}
	indexed := []byte{0, 1, 0, 0, 2, 3, 0, 0}
	for name, c := range map[string]struct {
		data []byte
		want []uint8
		says string
	}{
		"24 bits":                     {bitmapFile(40, 2, 24, 0, nil, 0, rows24...), up, ""},
		"24 bits from the top":        {bitmapFile(40, -2, 24, 0, nil, 0, rows24...), down, ""},
		"24 bits with a palette":      {bitmapFile(40, 2, 24, 0, wide, 0, rows24...), up, ""},
		"24 bits with a gap":          {bitmapFile(124, 2, 24, 0, nil, 5, rows24...), up, ""},
		"OS/2, 24 bits":               {bitmapFile(12, 2, 24, 0, nil, 3, rows24...), up, ""},
		"OS/2, few colours":           {bitmapFile(12, 2, 8, 0, colours, 0, indexed...), up, ""},
		"OS/2 2":                      {bitmapFile(64, 2, 8, 0, wide, 0, indexed...), up, ""},
		"OS/2 2, short":               {bitmapFile(16, 2, 24, 0, nil, 0, rows24...), up, ""},
		"few colours and a gap":       {bitmapFile(40, -2, 8, 0, wide, 1<<10, indexed...), down, ""},
		"a colour that is not there":  {bitmapFile(40, -2, 8, 0, wide[:12], 0, indexed...), append(down[:9:9], 0, 0, 0), ""},
		"32 bits, no mask of alpha":   {bitmapFile(40, 2, 32, 0, nil, 0, rows32(9, 9, 9, 9)...), up, ""},
		"V4, alpha all 0":             {bitmapFile(108, 2, 32, 0, nil, 0, rows32(0, 0, 0, 0)...), up, ""},
		"V5, alpha all 0, with masks": {bitmapFile(124, -2, 32, 3, nil, 7, rows32(0, 0, 0, 0)...), down, ""},
		"V3, alpha of one pixel":      {bitmapFile(56, -2, 32, 3, nil, 0, rows32(0, 0, 0, 255)...), append(make([]uint8, 9), down[9:]...), ""},
		"masks behind the header":     {bitmapFile(40, -2, 32, 3, masks32[:12], 0, rows32(0, 0, 0, 255)...), down, ""},
		"other masks":                 {bitmapFile(40, -2, 32, 3, colours, 0, rows32(0, 0, 0, 255)...), nil, "(32 bits a pixel with bit masks)"},
		"16 bits":                     {bitmapFile(40, 2, 16, 0, nil, 0, rows24...), nil, "(16 bits a pixel); save it as an ordinary 8-bit PNG"},
		"run lengths":                 {bitmapFile(40, 2, 8, 1, wide, 0, indexed...), nil, "(8 bits a pixel with run lengths)"},
		"another header":              {bitmapFile(80, 2, 24, 0, nil, 0, rows24...), nil, "(a header of 80 bytes)"},
		"cut short":                   {bitmapFile(12, 2, 24, 0, nil, 0, rows24[:12]...), nil, "the file is cut short"},
		"too wide":                    {bitmapFile(40, 1<<30, 24, 0, nil, 0, rows24...), nil, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Decode("a.bmp", c.data)
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, m.Pix)
		})
	}
}
