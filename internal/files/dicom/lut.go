package dicom

import (
	"bytes"
	"encoding/binary"
	"fmt"

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
	entries []uint16
	signed  bool // entries are int16
}

// table reads a lookup table: what it is called, and the tags of its descriptor, its entries and,
// or 0, of entries in segments. signed says whether the values that it maps may be negative.
func (p *parser) table(what string, descriptor, data, segments uint32, signed bool) (*table, error) {
	v := p.numbers(descriptor, "US") // the number of entries, the first value, and the bits of an entry
	if len(v) < 3 {
		return nil, fmt.Errorf("its %s is missing", what)
	}
	count, first := int(v[0])&0xffff, int(v[1])&0xffff
	if count == 0 {
		count = 1 << 16
	}
	if signed {
		first = int(int16(first))
	}
	wide := int(v[2]) > 8 || len(p.found[data]) >= 2*count // some programs write 8 bits in 16
	entries := p.words(data, wide)
	if segments != 0 && len(p.found[data]) == 0 {
		var err error
		if entries, err = segmented(p.words(segments, wide), wide, count); err != nil {
			return nil, err
		}
	}
	if len(entries) < count {
		return nil, fmt.Errorf("its %s is cut short", what)
	}
	return &table{first, entries[:count], p.kinds[data] == "SS"}, nil
}

// entry is that of a value.
func (t *table) entry(v float32) uint16 {
	return t.entries[min(max(int(v)-t.first, 0), len(t.entries)-1)]
}

// number is an entry as a number.
func (t *table) number(entry uint16) float32 {
	if t.signed {
		return float32(int16(entry))
	}
	return float32(entry)
}

// span holds the values that have an entry of their own.
func (t *table) span() raster.Span {
	return raster.Span{Low: float64(t.first) - 0.5, High: float64(t.first+len(t.entries)) - 0.5}
}

// lookupTable reads the first item of a sequence of lookup tables; nil if the file has none.
func (f *frame) lookupTable(sequence uint32, signed bool) (*table, error) {
	data := f.found[sequence]
	if len(data) == 0 {
		return nil, nil
	}
	q := &parser{data: data, order: f.order, implicit: f.implicit, found: map[uint32][]byte{}, kinds: map[uint32]string{}}
	if err := q.sequence(1, len(data), false, true, 0); err != nil {
		return nil, err
	}
	return q.table("lookup table", lutDescriptor, lutData, 0, signed)
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
		if v == v {
			values[i] = t.number(t.entry(v))
		}
	}
	largest := t.number(t.entries[0])
	for _, entry := range t.entries {
		largest = max(largest, t.number(entry))
	}
	return float64(largest)
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
