// Package elements writes the elements of DICOM files.
package elements

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Set is a data set, or an item of a sequence, with explicit values in little-endian order.
// Tags must be appended in ascending order.
type Set []byte

// Tag appends a tag.
func (e *Set) Tag(tag uint32) {
	*e = binary.LittleEndian.AppendUint16(*e, uint16(tag>>16))
	*e = binary.LittleEndian.AppendUint16(*e, uint16(tag))
}

// Bytes appends an element.
func (e *Set) Bytes(tag uint32, kind string, value []byte) {
	odd := len(value) % 2
	e.Tag(tag)
	*e = append(*e, kind...)
	switch kind {
	case "OB", "SQ", "UT":
		*e = append(*e, 0, 0)
		*e = binary.LittleEndian.AppendUint32(*e, uint32(len(value)+odd))
	default:
		*e = binary.LittleEndian.AppendUint16(*e, uint16(len(value)+odd))
	}
	*e = append(*e, value...)
	if odd > 0 && (kind == "OB" || kind == "UI") {
		*e = append(*e, 0)
	} else if odd > 0 {
		*e = append(*e, ' ')
	}
}

// Text appends an element of texts.
func (e *Set) Text(tag uint32, kind string, values ...string) {
	e.Bytes(tag, kind, []byte(strings.Join(values, `\`)))
}

// Words appends an element of whole numbers of 16 bits.
func (e *Set) Words(tag uint32, values ...int) {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	e.Bytes(tag, "US", b)
}

// Pointer appends an element whose value is a tag.
func (e *Set) Pointer(tag, to uint32) {
	var value Set
	value.Tag(to)
	e.Bytes(tag, "AT", value)
}

// Decimals appends an element of numbers as texts.
func (e *Set) Decimals(tag uint32, values ...float64) {
	var all []string
	for _, v := range values {
		all = append(all, decimal(v))
	}
	e.Text(tag, "DS", all...)
}

// Sequence appends a sequence.
func (e *Set) Sequence(tag uint32, items ...Set) {
	var all Set
	for _, one := range items {
		all.Tag(0xfffee000)
		all = binary.LittleEndian.AppendUint32(all, uint32(len(one)))
		all = append(all, one...)
	}
	e.Bytes(tag, "SQ", all)
}

// Merged are two data sets as one. No tag is in both.
func Merged(a, b Set) Set {
	out, word := make(Set, 0, len(a)+len(b)), binary.LittleEndian.Uint16
	for len(a) > 0 && len(b) > 0 {
		if uint32(word(b))<<16|uint32(word(b[2:])) < uint32(word(a))<<16|uint32(word(a[2:])) {
			a, b = b, a
		}
		size := 8 + int(word(a[6:]))
		if kind := string(a[4:6]); kind == "OB" || kind == "SQ" || kind == "UT" {
			size = 12 + int(binary.LittleEndian.Uint32(a[8:]))
		}
		out, a = append(out, a[:size]...), a[size:]
	}
	return append(append(out, a...), b...)
}

// decimal is a number in the 16 characters that a decimal string may have.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	for digits := 16; len(text) > 16; digits-- {
		text = strconv.FormatFloat(v, 'g', digits, 64)
	}
	return text
}
