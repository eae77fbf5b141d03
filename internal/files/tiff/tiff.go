// Package tiff reads a page of a TIFF or BigTIFF file.
//
// It reads strips and tiles, samples of 1 to 64 bits and floats, interleaved or in planes, in grey,
// RGB, CMYK or palettes. It knows the compressions LZW, Deflate, PackBits, CCITT and JPEG. It
// refuses other pictures by name. It decodes row by row, so that nothing unpacks to more than the
// header promises. Source: TIFF 6.0; Adobe's Technical Notes 1 to 3; the BigTIFF design.
package tiff

import (
	"encoding/binary"
	"errors"

	"mrprism/internal/files/raster"
)

const (
	maxPages    = 10_000  // pages that are counted
	maxSamples  = 64      // of a pixel
	maxSide     = 65_535  // pixels of a page, a strip or a tile
	maxEntries  = 4096    // of a directory
	largestDraw = 1 << 30 // bytes of all samples
	largestPage = 1 << 26 // pixels
)

// file is a TIFF file with its byte order.
type file struct {
	data  []byte
	order binary.ByteOrder

	head, size, wide uint64 // bytes of a directory's count, of an entry, and of an offset
}

// entry is a directory's entry: count values of a kind, in bytes.
type entry struct {
	kind  uint16
	count uint64
	at    uint64 // offset of the values; 0: in the entry
	bytes []byte
}

// sizes has the size of a value in bytes, by kind.
var sizes = map[uint16]uint64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}

// Is reports whether data begins like a TIFF file.
func Is(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	switch string(data[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+":
		return true
	}
	return false
}

// Open reads the header of a page, from 1; 0 is the first. Slices of a stack count as pages. Errors
// are plain, or raster.Unsupported.
func Open(data []byte, page int, jpeg raster.JPEG) (*raster.Frame, error) {
	f, err := open(data)
	if err != nil {
		return nil, err
	}
	pages, err := f.pages()
	if err != nil {
		return nil, err
	}
	page, slices := max(page, 1), len(pages)
	if page > slices && slices > 1 {
		return nil, raster.NoSlice(slices)
	}
	at := pages[min(page, slices)-1]
	d := f.entries(at.table)
	p, err := f.page(d)
	if err != nil {
		return nil, err
	}
	if slices == 1 {
		if slices = p.stack(d, at.at, page); page > slices {
			return nil, raster.NoSlice(slices)
		}
	}
	if p.bare {
		return &raster.Frame{W: p.w, H: p.h, Orientation: 1, Slice: page, Slices: slices}, nil
	}
	p.jpeg = jpeg
	about := f.entries(pages[0].table)[tagDescription].bytes
	physical, body := microscope(about)
	if unit, step := imagej(about); body {
		p.spacing = [2]float64(physical[:2])
	} else if unit > 0 { // of a file of ImageJ the resolution is no printer's
		p.spacing = [2]float64{f.perMillimetre(d[tagXResolution], unit), f.perMillimetre(d[tagYResolution], unit)}
		physical[2], body = step, true
	}
	return &raster.Frame{
		W: p.w, H: p.h, Orientation: p.orientation, Spacing: p.spacing, Body: body, Slice: page, Slices: slices, Step: physical[2],
		Memory: p.memory(), Least: p.least(), Full: p.bits < 16, Inverted: p.photometric == whiteIsZero, Decode: p.decode, Apart: p.apart(about),
	}, nil
}

// open reads the byte order.
func open(data []byte) (*file, error) {
	f := &file{data: data, order: binary.LittleEndian}
	if !Is(data) {
		return nil, errors.New("it does not begin like a TIFF")
	}
	if data[0] == 'M' {
		f.order = binary.BigEndian
	}
	if f.head, f.size, f.wide = 2, 12, 4; data[2] == '+' || data[3] == '+' { // BigTIFF
		f.head, f.size, f.wide = 8, 20, 8
	}
	return f, nil
}

// number is a whole number of 1, 2, 4 or 8 bytes.
func (f *file) number(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(f.order.Uint16(b))
	case 4:
		return uint64(f.order.Uint32(b))
	}
	return f.order.Uint64(b)
}

// at is the number of some bytes at a position of the file.
func (f *file) at(position, bytes uint64) (v uint64, ok bool) {
	if position > uint64(len(f.data)) || uint64(len(f.data))-position < bytes {
		return 0, false
	}
	return f.number(f.data[position:][:bytes]), true
}

// ifd is a page's directory as stored in the file.
type ifd struct {
	at    uint64
	table []byte // entries
}

// pages finds the directories. Their chain ends where it leads back or out of the file. A page that
// shows another page in small, or is its mask, does not count, unless there are no others.
func (f *file) pages() ([]ifd, error) {
	at, ok := f.at(f.wide, f.wide)
	if !ok {
		return nil, raster.ErrShort
	}
	var whole, reduced []ifd
	for seen := map[uint64]bool{}; ok && at != 0 && !seen[at] && len(seen) < maxPages; {
		seen[at] = true
		count, found := f.at(at, f.head)
		if !found || count == 0 || count > maxEntries || count*f.size > uint64(len(f.data))-at-f.head {
			break
		}
		d := ifd{at, f.data[at+f.head:][:count*f.size]}
		if f.reduced(d) {
			reduced = append(reduced, d)
		} else {
			whole = append(whole, d)
		}
		at, ok = f.at(at+f.head+count*f.size, f.wide)
	}
	switch {
	case len(whole) > 0:
		return whole, nil
	case len(reduced) > 0:
		return reduced, nil
	}
	return nil, errors.New("it has no directory of a page, or the file is cut short")
}

// reduced reports whether a page shows another page in small, or is its mask.
func (f *file) reduced(d ifd) bool {
	for table := d.table; len(table) > 0; table = table[f.size:] {
		kind := uint32(f.order.Uint16(table[4+f.wide:]))
		if f.order.Uint16(table[2:]) == 4 {
			kind = f.order.Uint32(table[4+f.wide:])
		}
		switch f.order.Uint16(table) {
		case tagNewSubfile:
			return kind&5 != 0
		case tagSubfile:
			return kind == 2
		case tagWidth: // entries are in order
			return false
		}
	}
	return false
}

// entries reads a directory's entries. It omits those that point out of the file.
func (f *file) entries(table []byte) map[uint16]entry {
	all := map[uint16]entry{}
	for ; len(table) > 0; table = table[f.size:] {
		e := entry{kind: f.order.Uint16(table[2:]), count: f.number(table[4:][:f.wide])}
		value := table[4+f.wide:][:f.wide]
		unit, known := sizes[e.kind]
		if !known || e.count > uint64(len(f.data)) {
			continue
		}
		if total := unit * e.count; total <= f.wide {
			e.bytes = value[:total]
		} else {
			at := f.number(value)
			if at > uint64(len(f.data)) || uint64(len(f.data))-at < total {
				continue
			}
			e.at, e.bytes = at, f.data[at:][:total]
		}
		all[f.order.Uint16(table)] = e
	}
	return all
}

// uint is value i of an entry, or other if that is missing or no whole number.
func (f *file) uint(e entry, i int, other uint64) uint64 {
	switch e.kind {
	case 1, 3, 4, 7, 13, 16, 18:
		if uint64(i) < e.count {
			size := sizes[e.kind]
			return f.number(e.bytes[uint64(i)*size:][:size])
		}
	}
	return other
}

// perMillimetre converts a rational of pixels a unit to mm a pixel. It is 0 for nonsense.
func (f *file) perMillimetre(e entry, unit float64) float64 {
	if e.kind != 5 || e.count == 0 {
		return 0
	}
	mm := unit * float64(f.order.Uint32(e.bytes[4:])) / float64(f.order.Uint32(e.bytes))
	if !raster.Length(mm) {
		return 0
	}
	return mm
}
