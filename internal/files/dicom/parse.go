package dicom

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

const (
	maxDepth     = 32        // sequences within sequences
	maxElements  = 1_000_000 // of a file, those of sequences included
	maxUnpacked  = 256 << 20 // bytes of a deflated file, as far as a frame's end
	firstHead    = 64 << 10  // bytes of a deflated file that are unpacked first to find its pixels
	maxHead      = 16 << 20  // bytes of a deflated file before its pixels
	undefined    = 0xffffffff
	item         = 0xfffee000
	itemEnd      = 0xfffee00d
	sequenceEnd  = 0xfffee0dd
	pixelData    = 0x7fe00010
	pixelSpacing = 0x00280030
	sharedGroups = 0x52009229
	frameGroups  = 0x52009230
)

// parser walks the elements of a data set.
type parser struct {
	data     []byte
	at       int
	order    binary.ByteOrder
	implicit bool
	elements int
	slice    int               // the frame that is wanted, from 1; 0: the middle one
	found    map[uint32][]byte // values outside sequences, and of the frame's functional groups
	kinds    map[uint32]string // their value representations; without those of implicit values
	pieces   [][]byte          // items of encapsulated pixel data; first the table of offsets
	packed   []byte            // a deflated data set; data is its beginning
	pixelsAt int               // where the value of the pixel data begins in data
}

// Is reports whether data is a DICOM file, or a data set without its preamble.
func Is(data []byte) bool {
	if len(data) >= 132 && string(data[128:132]) == "DICM" {
		return true
	}
	if len(data) < 16 {
		return false
	}
	group, element := binary.LittleEndian.Uint16(data), binary.LittleEndian.Uint16(data[2:])
	if data[0] == 0 && data[1] == 8 {
		group, element = 8, binary.BigEndian.Uint16(data[2:])
	}
	length := binary.LittleEndian.Uint32(data[4:])
	return (group == 2 || group == 8) && element <= 0x20 && (letters(data[4:6]) || int64(length) < int64(len(data)))
}

// letters reports whether b begins like a value representation: with two capitals.
func letters(b []byte) bool { return b[0] >= 'A' && b[0] <= 'Z' && b[1] >= 'A' && b[1] <= 'Z' }

// macros are sequences within functional groups that place a frame and say what its values mean.
var macros = map[uint32]bool{0x00209113: true, 0x00209116: true, 0x00289110: true, 0x00289132: true, 0x00289145: true}

// parse reads a file's elements as far as the pixels. slice is that of Open. syntax is the transfer
// syntax, empty if the file does not say.
func parse(data []byte, slice int) (p *parser, syntax string, err error) {
	p = &parser{data: data, order: binary.LittleEndian, slice: slice, found: map[uint32][]byte{}, kinds: map[uint32]string{}}
	if len(data) >= 132 && string(data[128:132]) == "DICM" {
		p.at = 132
	}
	for p.at+8 <= len(p.data) && p.order.Uint16(p.data[p.at:]) == 2 { // the file's own group: explicit
		if err := p.element(0, true); err != nil {
			return nil, "", err
		}
	}
	syntax = text(p.found[0x00020010])
	switch syntax {
	case "1.2.840.10008.1.2":
		p.implicit = true
	case "1.2.840.10008.1.2.2":
		p.order = binary.BigEndian
	case "1.2.840.10008.1.2.1.99":
		return p.deflated(syntax)
	case "":
		if p.at+6 <= len(p.data) {
			p.implicit = !letters(p.data[p.at+4:])
			if p.data[p.at] == 0 && p.data[p.at+1] != 0 {
				p.order = binary.BigEndian
			}
		}
	}
	return p, syntax, p.body()
}

// body reads the elements as far as the pixels.
func (p *parser) body() error {
	for p.at+8 <= len(p.data) && p.pieces == nil {
		if err := p.element(0, true); err != nil {
			return err
		}
	}
	return nil
}

// deflated unpacks the part of a data set before its pixels.
func (p *parser) deflated(syntax string) (*parser, string, error) {
	packed := p.data[p.at:]
	for size := firstHead; ; size *= 4 {
		head := make([]byte, size)
		n, err := io.ReadFull(inflater(packed), head)
		if n == 0 {
			return nil, "", raster.ErrShort
		}
		q := *p
		q.data, q.at, q.elements, q.found, q.kinds, q.packed = head[:n], 0, 0, maps.Clone(p.found), maps.Clone(p.kinds), packed
		failed := q.body()
		switch cut := failed == raster.ErrShort || failed == nil && q.pieces == nil; {
		case !cut, err != nil: // the pixels, a fault, or the end of the data set
			return &q, syntax, failed
		case size >= maxHead:
			return nil, "", raster.Unsupported(fmt.Sprintf("a deflated file with more than %d MiB before its pixels", maxHead>>20))
		}
	}
}

// inflater unpacks a deflated data set. Some programs write it with the head of zlib or of gzip.
func inflater(packed []byte) io.Reader {
	if z, err := zlib.NewReader(bytes.NewReader(packed)); err == nil {
		return z
	}
	if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		return z
	}
	return flate.NewReader(bytes.NewReader(packed))
}

// unpacked is a part of a deflated data set's pixels, from byte begin to byte end.
func (p *parser) unpacked(begin, end int64) ([]byte, error) {
	if int64(p.pixelsAt)+end > maxUnpacked {
		return nil, raster.Unsupported(fmt.Sprintf("a deflated file of more than %d MiB as far as this frame", maxUnpacked>>20))
	}
	r := pulse.Reader(inflater(p.packed))
	_, err := io.CopyN(io.Discard, r, int64(p.pixelsAt)+begin)
	data := make([]byte, end-begin)
	if err == nil {
		_, err = io.ReadFull(r, data)
	}
	if err != nil {
		return nil, raster.ErrShort
	}
	return data, nil
}

// head reads an element's tag and length. A sequence has kind "SQ".
func (p *parser) head() (tag uint32, kind string, length uint32, err error) {
	if len(p.data)-p.at < 8 {
		return 0, "", 0, raster.ErrShort
	}
	b := p.data[p.at:]
	tag = uint32(p.order.Uint16(b))<<16 | uint32(p.order.Uint16(b[2:]))
	if p.implicit || tag>>16 == 0xfffe || !letters(b[4:]) {
		p.at += 8
		return tag, "", p.order.Uint32(b[4:]), nil
	}
	switch kind = string(b[4:6]); kind {
	case "OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV":
		if len(b) < 12 {
			return 0, "", 0, raster.ErrShort
		}
		p.at += 12
		return tag, kind, p.order.Uint32(b[8:]), nil
	}
	p.at += 8
	return tag, kind, uint32(p.order.Uint16(b[6:])), nil
}

// element reads an element, or skips it. If keep is true it keeps the value, unless there is one
// already.
func (p *parser) element(depth int, keep bool) error {
	if p.elements++; p.elements > maxElements || depth > maxDepth {
		return errors.New("it has too many elements, or sequences within each other")
	}
	tag, kind, length, err := p.head()
	if err != nil {
		return err
	}
	groups := depth == 0 && (tag == sharedGroups || tag == frameGroups) || depth > 0 && keep && macros[tag]
	only := -1
	if depth == 0 && tag == frameGroups {
		only, _ = p.frame()
	}
	switch {
	case tag == pixelData && depth == 0 && length == undefined:
		return p.encapsulated()
	case length == undefined || (groups && (kind == "SQ" || p.implicit)):
		end := len(p.data)
		if length != undefined {
			end = min(end, p.at+int(length))
		}
		before, from := p.implicit, p.at
		p.implicit = before || kind == "UN" // elements of an unknown kind are implicit
		err := p.sequence(depth+1, end, length == undefined, groups || (keep && depth > 0), only)
		p.implicit = before
		if tag == modalityLUT || tag == windowLUT {
			p.found[tag] = p.data[from:p.at]
		}
		return err
	}
	end := p.at + int(length)
	if int64(length) > int64(len(p.data)-p.at) {
		if tag != pixelData {
			return raster.ErrShort
		}
		end = len(p.data) // decode says how much is missing
	}
	if before, known := p.found[tag]; keep && !known {
		p.found[tag], p.kinds[tag] = p.data[p.at:end], kind
	} else if keep && tag == pixelSpacing && !bytes.Equal(before, p.data[p.at:end]) {
		p.found[tag] = nil // the file contradicts itself
	}
	if tag == pixelData && depth == 0 {
		p.pieces, p.pixelsAt = [][]byte{}, p.at
	}
	p.at = end
	return nil
}

// frame is the index of the frame that is wanted, and the number of frames.
func (p *parser) frame() (index, frames int) {
	frames = 1
	if n := p.numbers(0x00280008, "IS"); len(n) > 0 && n[0] >= 1 {
		frames = int(min(n[0], math.MaxInt32))
	}
	if p.slice == 0 {
		return frames / 2, frames
	}
	return p.slice - 1, frames
}

// sequence reads the items of a sequence. It keeps the values of item `only`, or of all (−1).
func (p *parser) sequence(depth, end int, open, keep bool, only int) error {
	for number := 0; p.at < end; number++ {
		keep := keep && (only < 0 || only == number)
		tag, _, length, err := p.head()
		switch {
		case err != nil:
			return err
		case tag == sequenceEnd:
			return nil
		case tag != item:
			return errors.New("a sequence has something else than items")
		}
		last := end
		if length != undefined {
			if int64(length) > int64(len(p.data)-p.at) {
				return raster.ErrShort
			}
			last = p.at + int(length)
		}
		if length != undefined && !keep {
			p.at = last
			continue
		}
		for p.at < last {
			if length == undefined && p.ends() {
				p.at += 8
				break
			}
			if err := p.element(depth, keep); err != nil {
				return err
			}
		}
	}
	if open {
		return raster.ErrShort
	}
	return nil
}

// ends reports whether an item ends here.
func (p *parser) ends() bool {
	return len(p.data)-p.at >= 8 && uint32(p.order.Uint16(p.data[p.at:]))<<16|uint32(p.order.Uint16(p.data[p.at+2:])) == itemEnd
}

// encapsulated reads the items of compressed pixels. In some files their end is missing.
func (p *parser) encapsulated() error {
	for p.pieces = [][]byte{}; len(p.data)-p.at >= 8; {
		tag, _, length, err := p.head()
		if err != nil || tag != item {
			return err
		}
		end := min(int64(p.at)+int64(length), int64(len(p.data)))
		p.pieces = append(p.pieces, p.data[p.at:end])
		p.at = int(end)
	}
	return nil
}

// text is a value without its padding.
func text(value []byte) string { return strings.Trim(string(value), " \x00") }

// word is the first whole number of 16 bits of a value, or other if there is none.
func (p *parser) word(tag uint32, other int) int {
	if all := p.numbers(tag, "US"); len(all) > 0 && all[0] == math.Trunc(all[0]) && math.Abs(all[0]) <= math.MaxUint16 {
		return int(all[0]) & math.MaxUint16
	}
	return other
}

// binaries read a number of a value representation, by its name. Others are texts.
var binaries = map[string]struct {
	size int // bytes
	read func(o binary.ByteOrder, b []byte) float64
}{
	"US": {2, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	"SS": {2, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	"UL": {4, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	"SL": {4, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	"UV": {8, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }},
	"SV": {8, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	"FL": {4, func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	"FD": {8, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
}

// numbers are a value's first numbers, as far as they are finite and can be read. usual is the
// standard's value representation. Some programs write another one: the file's counts, if it says
// how numbers are written.
func (p *parser) numbers(tag uint32, usual string) (all []float64) {
	value, kind := p.found[tag], p.kinds[tag]
	value = value[:min(len(value), 1024)] // of more numbers than anybody needs
	switch kind {
	case "", "OB", "OW", "UN":
		kind = usual
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	if number, ok := binaries[kind]; ok {
		for ; len(value) >= number.size && finite(number.read(p.order, value)); value = value[number.size:] {
			all = append(all, number.read(p.order, value))
		}
		return all
	}
	for part := range strings.SplitSeq(text(value), `\`) {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !finite(v) {
			break
		}
		all = append(all, v)
	}
	return all
}
