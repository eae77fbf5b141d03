package dicom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"mrprism/internal/files/raster"
)

const (
	modalityLUT   = 0x00283000 // sequences of one lookup table
	windowLUT     = 0x00283010 // the VOI LUT
	lutDescriptor = 0x00283002
	lutData       = 0x00283006
)

// table is a lookup table: value first + i becomes entry i. Values outside become the first or the
// last entry. Source: DICOM PS3.3 C.11.1 and C.11.2.
type table struct {
	first   int
	entries []float32
}

// span holds the values that have an entry of their own.
func (t *table) span() raster.Span {
	return raster.Span{Low: float64(t.first) - 0.5, High: float64(t.first+len(t.entries)) - 0.5}
}

// lookupTable reads the first item of a sequence of lookup tables; nil if the file has none. signed
// says whether the values that it maps may be negative.
func (f *frame) lookupTable(sequence uint32, signed bool) (*table, error) {
	data, ok := f.found[sequence]
	if !ok || len(data) == 0 {
		return nil, nil
	}
	q := &parser{data: data, order: f.order, implicit: f.implicit, found: map[uint32][]byte{}, kinds: map[uint32]string{}}
	if err := q.sequence(1, len(data), false, true, 0); err != nil {
		return nil, err
	}
	count, first, bits, ok := q.descriptor(lutDescriptor, signed)
	if !ok {
		return nil, errors.New("its lookup table is missing")
	}
	entries := q.words(lutData, bits > 8 || len(q.found[lutData]) >= 2*count) // some programs write 8 bits in 16
	if len(entries) < count {
		return nil, errors.New("its lookup table is cut short")
	}
	t := &table{first: first}
	for _, v := range entries[:count] {
		t.entries = append(t.entries, float32(v))
		if q.kinds[lutData] == "SS" {
			t.entries[len(t.entries)-1] = float32(int16(v))
		}
	}
	return t, nil
}

// descriptor is that of a lookup table or palette: its number of entries, the value of the first
// one, and the bits of an entry. ok is false if there is none.
func (p *parser) descriptor(tag uint32, signed bool) (count, first, bits int, ok bool) {
	v := p.numbers(tag, "US")
	if len(v) < 3 {
		return 0, 0, 0, false
	}
	if count = int(v[0]) & 0xffff; count == 0 {
		count = 1 << 16
	}
	if first = int(v[1]) & 0xffff; signed {
		first = int(int16(first))
	}
	return count, first, int(v[2]), true
}

// words are the numbers of a table's value: of 16 bits if wide, and otherwise of 8.
func (p *parser) words(tag uint32, wide bool) (all []uint16) {
	data := p.found[tag]
	if !wide {
		data = p.inPairs(tag, data)
	}
	for i := 0; i < len(data); i++ {
		if !wide {
			all = append(all, uint16(data[i]))
		} else if i++; i < len(data) {
			all = append(all, p.order.Uint16(data[i-1:]))
		}
	}
	return all
}

// inPairs swaps the bytes of each word, if a big-endian file has bytes in words. data is the value,
// or a part of it that begins at an even byte.
func (p *parser) inPairs(tag uint32, data []byte) []byte {
	if kind := p.kinds[tag]; p.order != binary.BigEndian || kind != "OW" && kind != "" {
		return data
	}
	out := bytes.Clone(data)
	for i := 0; i+1 < len(out); i += 2 {
		out[i], out[i+1] = out[i+1], out[i]
	}
	return out
}

// apply looks values up in place, and returns the largest entry, which is white: the descriptor's
// bits may be those of storage. NaN stays.
func (t *table) apply(values []float32) (white float64) {
	for i, v := range values {
		if v != v {
			continue
		}
		values[i] = t.entries[min(max(int(v)-t.first, 0), len(t.entries)-1)]
	}
	return float64(slices.Max(t.entries))
}

// tables reads the lookup tables of a grey frame. A modality LUT replaces slope and intercept. If
// there is a window, the VOI LUT is not used.
func (f *frame) tables() (err error) {
	if f.samples != 1 || f.photometric == "PALETTE COLOR" {
		return nil
	}
	if f.modality, err = f.lookupTable(modalityLUT, f.signed); err != nil || f.window != nil {
		return err
	}
	f.voi, err = f.lookupTable(windowLUT, f.modality == nil && (f.signed || f.intercept < 0))
	return err
}
