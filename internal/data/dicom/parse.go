package dicom

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"

	"mrprism/internal/data/raster"
)

const (
	maxDepth     = 32        // sequences within sequences
	maxElements  = 1_000_000 // of a file, those of sequences included
	maxUnpacked  = 256 << 20 // bytes of a deflated file
	undefined    = 0xffffffff
	item         = 0xfffee000
	itemEnd      = 0xfffee00d
	sequenceEnd  = 0xfffee0dd
	pixelData    = 0x7fe00010
	sharedGroups = 0x52009229
	frameGroups  = 0x52009230
)

var errShort = errors.New("the file is cut short")

// parser walks the elements of a data set.
type parser struct {
	data     []byte
	at       int
	order    binary.ByteOrder
	implicit bool
	elements int
	found    map[uint32][]byte // values of elements outside sequences, and of functional groups
	pieces   [][]byte          // items of encapsulated pixel data, the table of offsets first
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

// letters reports whether a value representation may stand here.
func letters(b []byte) bool { return b[0] >= 'A' && b[0] <= 'Z' && b[1] >= 'A' && b[1] <= 'Z' }

// parse reads a file's elements as far as the pixels. syntax is the transfer syntax; empty if the
// file does not say.
func parse(data []byte) (p *parser, syntax string, err error) {
	p = &parser{data: data, order: binary.LittleEndian, found: map[uint32][]byte{}}
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
		unpacked, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[p.at:])), maxUnpacked+1))
		if err != nil && len(unpacked) == 0 {
			return nil, "", errShort
		}
		if len(unpacked) > maxUnpacked {
			return nil, "", raster.Unsupported("a deflated file of more than 256 MiB")
		}
		p.data, p.at = unpacked, 0
	case "":
		if p.at+6 <= len(p.data) {
			p.implicit = !letters(p.data[p.at+4:])
			if p.data[p.at] == 0 && p.data[p.at+1] != 0 {
				p.order = binary.BigEndian
			}
		}
	}
	for p.at+8 <= len(p.data) && p.pieces == nil {
		if err := p.element(0, true); err != nil {
			return nil, "", err
		}
	}
	return p, syntax, nil
}

// head reads an element's tag and length. A sequence has kind "SQ".
func (p *parser) head() (tag uint32, kind string, length uint32, err error) {
	if len(p.data)-p.at < 8 {
		return 0, "", 0, errShort
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
			return 0, "", 0, errShort
		}
		p.at += 12
		return tag, kind, p.order.Uint32(b[8:]), nil
	}
	p.at += 8
	return tag, kind, uint32(p.order.Uint16(b[6:])), nil
}

// element reads an element, or passes over it. If keep is true its value is kept, unless there is
// one.
func (p *parser) element(depth int, keep bool) error {
	if p.elements++; p.elements > maxElements || depth > maxDepth {
		return errors.New("it has too many elements, or sequences within each other")
	}
	tag, kind, length, err := p.head()
	if err != nil {
		return err
	}
	groups := tag == sharedGroups || tag == frameGroups
	switch {
	case tag == pixelData && depth == 0 && length == undefined:
		return p.encapsulated()
	case length == undefined || (groups && (kind == "SQ" || p.implicit)):
		end := len(p.data)
		if length != undefined {
			end = min(end, p.at+int(length))
		}
		before := p.implicit
		p.implicit = before || kind == "UN" // what is unknown is implicit
		err := p.sequence(depth+1, end, length == undefined, groups || (keep && depth > 0))
		p.implicit = before
		return err
	}
	end := p.at + int(length)
	if int64(length) > int64(len(p.data)-p.at) {
		if tag != pixelData {
			return errShort
		}
		end = len(p.data) // decode says how much is missing
	}
	if _, known := p.found[tag]; keep && !known {
		p.found[tag] = p.data[p.at:end]
	}
	if p.at = end; tag == pixelData && depth == 0 {
		p.pieces = [][]byte{}
	}
	return nil
}

// sequence reads the items of a sequence.
func (p *parser) sequence(depth, end int, open, keep bool) error {
	for p.at < end {
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
				return errShort
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
		return errShort
	}
	return nil
}

// ends reports whether the end of an item stands here.
func (p *parser) ends() bool {
	return len(p.data)-p.at >= 8 && uint32(p.order.Uint16(p.data[p.at:]))<<16|uint32(p.order.Uint16(p.data[p.at+2:])) == itemEnd
}

// encapsulated reads the items of compressed pixels. Some files lack the end.
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

// word is a value of 16 bits; other if there is none.
func (p *parser) word(tag uint32, other int) int {
	if v := p.found[tag]; len(v) >= 2 {
		return int(p.order.Uint16(v))
	}
	return other
}

// numbers are a value's decimals.
func (p *parser) numbers(tag uint32) (all []float64) {
	for part := range strings.SplitSeq(text(p.found[tag]), `\`) {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return all
		}
		all = append(all, v)
	}
	return all
}
