package dicom

import (
	"errors"
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
	bits    int // of an entry
}

// lookupTable reads the first item of a sequence of lookup tables; nil if the file has none. signed
// says whether the values that it maps may be negative.
func (f *frame) lookupTable(sequence uint32, signed bool) (*table, error) {
	data, ok := f.found[sequence]
	if !ok || len(data) == 0 {
		return nil, nil
	}
	q := &parser{data: data, order: f.order, implicit: f.implicit, found: map[uint32][]byte{}}
	if err := q.sequence(1, len(data), false, true, 0); err != nil {
		return nil, err
	}
	about, values := q.found[lutDescriptor], q.found[lutData]
	if len(about) < 6 {
		return nil, errors.New("its lookup table is missing")
	}
	count, t := int(f.order.Uint16(about)), &table{first: int(f.order.Uint16(about[2:])), bits: int(f.order.Uint16(about[4:]))}
	if count == 0 {
		count = 1 << 16
	}
	if signed {
		t.first = int(int16(t.first))
	}
	if t.bits < 8 || t.bits > 16 {
		return nil, raster.Unsupported(fmt.Sprintf("a lookup table of %d bits", t.bits))
	}
	t.entries = make([]uint16, count)
	for i := range t.entries {
		switch {
		case len(values) >= 2*count:
			t.entries[i] = f.order.Uint16(values[2*i:])
		case len(values) >= count && t.bits == 8:
			t.entries[i] = uint16(values[i])
		default:
			return nil, errors.New("its lookup table is cut short")
		}
	}
	return t, nil
}

// apply looks values up in place. NaN stays.
func (t *table) apply(values []float32) {
	for i, v := range values {
		if v != v {
			continue
		}
		values[i] = float32(t.entries[min(max(int(v)-t.first, 0), len(t.entries)-1)])
	}
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
