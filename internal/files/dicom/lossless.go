package dicom

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mrprism/internal/files/raster"
)

var errJPEG = errors.New("its lossless JPEG is damaged")

// lossless decodes a JPEG of process 14: samples (h, w, components), each predicted from its
// neighbours. Source: ITU T.81, annex H. dcmtk 3.6.7 decodes files of all seven predictors, in 8 and
// 16 bits, grey and RGB, to the same samples (24 November 2026).
func lossless(data []byte, w, h, components int) ([]uint16, error) {
	d := &losslessJPEG{w: w, h: h, components: components}
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			return nil, errJPEG
		}
		marker := data[at+1]
		if marker == 0xff {
			at++
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		if length < 2 || at+2+length > len(data) {
			return nil, raster.ErrShort
		}
		body := data[at+4 : at+2+length]
		at += 2 + length
		var err error
		switch {
		case marker == 0xc3:
			err = d.size(body)
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			err = raster.Unsupported("another JPEG than lossless under its transfer syntax")
		case marker == 0xc4:
			err = d.table(body)
		case marker == 0xdd && len(body) >= 2:
			d.restart = int(binary.BigEndian.Uint16(body))
		case marker == 0xda:
			return d.scan(body, data[at:])
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, raster.ErrShort
}

type losslessJPEG struct {
	w, h, components int
	precision        int
	restart          int // pixels between restarts; 0: none
	tables           [4]*huffman
	data             []byte
	held             uint64 // its lowest `kept` bits are the next bits of the scan
	kept             int
}

// shortCode is the number of bits up to which codes, that is nearly all, are looked up at once.
const shortCode = 9

// huffman says for each code's length its first code, and where its values begin.
type huffman struct {
	first, last, at [17]int
	values          []byte
	short           [1 << shortCode]uint16 // by the next bits: length<<8 | value, 0 for longer codes
}

func (d *losslessJPEG) size(b []byte) error {
	if len(b) < 6 || len(b) < 6+3*int(b[5]) {
		return errJPEG
	}
	d.precision = int(b[0])
	h, w := int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	if w != d.w || h != d.h || int(b[5]) != d.components || d.precision < 2 || d.precision > 16 {
		return fmt.Errorf("its JPEG has %d×%d pixels of %d components and %d bits", w, h, b[5], d.precision)
	}
	for c := range d.components {
		if b[6+3*c+1] != 0x11 {
			return raster.Unsupported("lossless JPEG with subsampling")
		}
	}
	return nil
}

func (d *losslessJPEG) table(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 || b[0] > 3 {
			return errJPEG
		}
		t, code, at := &huffman{}, 0, 0
		for n := 1; n <= 16; n++ {
			count := int(b[n])
			t.first[n], t.last[n], t.at[n] = code, code+count-1, at
			if code+count > 1<<n {
				return errJPEG
			}
			at += count
			code = (code + count) << 1
		}
		if len(b) < 17+at {
			return errJPEG
		}
		t.values = b[17:][:at]
		for n := 1; n <= shortCode; n++ {
			for code := t.first[n]; code <= t.last[n]; code++ {
				from, count := code<<(shortCode-n), 1<<(shortCode-n)
				for i := range count {
					t.short[from+i] = uint16(n)<<8 | uint16(t.values[t.at[n]+code-t.first[n]])
				}
			}
		}
		d.tables[b[0]], b = t, b[17+at:]
	}
	return nil
}

// fill reads ahead at least 32 bits of the scan, or all that are left before a marker.
func (d *losslessJPEG) fill() {
	for d.kept <= 56 && len(d.data) > 0 {
		b := d.data[0]
		if b == 0xff {
			if len(d.data) < 2 || d.data[1] != 0 {
				return
			}
			d.data = d.data[1:]
		}
		d.data = d.data[1:]
		d.held, d.kept = d.held<<8|uint64(b), d.kept+8
	}
}

// peek is the next n bits, at most 16. Zeros follow the end of the scan.
func (d *losslessJPEG) peek(n int) int {
	if d.kept < n {
		return int(d.held<<(n-d.kept)) & (1<<n - 1)
	}
	return int(d.held>>(d.kept-n)) & (1<<n - 1)
}

// code is the next value of a table, 0 to 255.
func (d *losslessJPEG) code(t *huffman) (int, error) {
	if s := t.short[d.peek(shortCode)]; s != 0 {
		d.kept -= int(s >> 8)
		return int(s & 255), nil
	}
	for n := shortCode + 1; n <= 16; n++ {
		if code := d.peek(n); code <= t.last[n] && code >= t.first[n] {
			d.kept -= n
			return int(t.values[t.at[n]+code-t.first[n]]), nil
		}
	}
	return 0, errJPEG
}

// difference is the next coded difference.
func (d *losslessJPEG) difference(t *huffman) (int, error) {
	if d.kept < 32 {
		d.fill()
	}
	size, err := d.code(t)
	v := 0
	switch {
	case err != nil:
	case size == 16:
		v = 32768
	case size > 16:
		err = errJPEG
	case size > 0:
		v = d.peek(size)
		d.kept -= size
		if v < 1<<(size-1) {
			v -= 1<<size - 1
		}
	}
	if d.kept < 0 {
		return 0, raster.ErrShort
	}
	return v, err
}

// scan decodes the samples of the only scan.
func (d *losslessJPEG) scan(b, data []byte) ([]uint16, error) {
	if d.precision == 0 || len(b) < 1 || len(b) < 4+2*int(b[0]) {
		return nil, errJPEG
	}
	n := d.components
	if int(b[0]) != n {
		return nil, raster.Unsupported("lossless JPEG with a scan a component")
	}
	tables := make([]*huffman, n)
	for c := range n {
		if tables[c] = d.tables[b[2+2*c]>>4&3]; tables[c] == nil {
			return nil, errJPEG
		}
	}
	predictor, shift := int(b[1+2*n]), int(b[3+2*n]&15)
	if predictor < 1 || predictor > 7 || shift >= d.precision {
		return nil, errJPEG
	}
	if least := d.w * d.h * n / 8; len(data) < least {
		return nil, raster.ErrShort
	}
	d.data = data
	out := make([]uint16, d.w*d.h*n)
	fresh := 0 // the pixel after a restart
	for i := range d.w * d.h {
		x, y := i%d.w, i/d.w
		if d.restart > 0 && i > 0 && i%d.restart == 0 {
			if len(d.data) < 2 || d.data[0] != 0xff || d.data[1]&0xf8 != 0xd0 {
				return nil, errJPEG
			}
			d.data, d.kept, fresh = d.data[2:], 0, i // drops the bits that fill up a byte
		}
		for c := range n {
			at := i*n + c
			left, above, corner := 0, 0, 0
			if x > 0 {
				left = int(out[at-n])
			}
			if y > 0 {
				above = int(out[at-d.w*n])
			}
			if x > 0 && y > 0 {
				corner = int(out[at-(d.w+1)*n])
			}
			guess := 0
			switch {
			case i == fresh:
				guess = 1 << (d.precision - shift - 1)
			case y == 0 || i < fresh+d.w && y == fresh/d.w:
				guess = left
			case x == 0:
				guess = above
			default:
				guess = [...]int{0, left, above, corner, left + above - corner, left + (above-corner)>>1, above + (left-corner)>>1, (left + above) >> 1}[predictor]
			}
			diff, err := d.difference(tables[c])
			if err != nil {
				return nil, err
			}
			out[at] = uint16(guess + diff)
		}
	}
	if shift > 0 {
		for i := range out {
			out[i] <<= shift
		}
	}
	return out, nil
}
