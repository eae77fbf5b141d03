package dicom

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// elements is a data set, or an item of a sequence, with explicit values in little-endian order.
// Tags must be appended in ascending order.
type elements []byte

func (e *elements) tag(tag uint32) {
	*e = binary.LittleEndian.AppendUint16(*e, uint16(tag>>16))
	*e = binary.LittleEndian.AppendUint16(*e, uint16(tag))
}

// bytes appends an element.
func (e *elements) bytes(tag uint32, kind string, value []byte) {
	odd := len(value) % 2
	e.tag(tag)
	*e = append(*e, kind...)
	switch kind {
	case "OB", "SQ":
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

func (e *elements) text(tag uint32, kind string, values ...string) {
	e.bytes(tag, kind, []byte(strings.Join(values, `\`)))
}

func (e *elements) words(tag uint32, values ...int) {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	e.bytes(tag, "US", b)
}

// pointer appends an element whose value is a tag.
func (e *elements) pointer(tag, to uint32) {
	var value elements
	value.tag(to)
	e.bytes(tag, "AT", value)
}

func (e *elements) decimals(tag uint32, values ...float64) {
	var all []string
	for _, v := range values {
		all = append(all, decimal(v))
	}
	e.text(tag, "DS", all...)
}

func (e *elements) sequence(tag uint32, items ...elements) {
	var all elements
	for _, one := range items {
		all.tag(item)
		all = binary.LittleEndian.AppendUint32(all, uint32(len(one)))
		all = append(all, one...)
	}
	e.bytes(tag, "SQ", all)
}

// decimal is a number in the 16 characters that a decimal string may have.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	for digits := 16; len(text) > 16; digits-- {
		text = strconv.FormatFloat(v, 'g', digits, 64)
	}
	return text
}

// limited is a text without the characters that separate values or lines, cut to a length.
func limited(text string, most int) string {
	runes := slices.DeleteFunc([]rune(strings.ToValidUTF8(text, "?")), func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f })
	return strings.TrimSpace(string(runes[:min(most, len(runes))]))
}

// uidOf makes a UID of 16 bytes: 2.25, and the bytes as the decimal number of a UUID of version 8.
// Source: PS3.5 B.2, RFC 9562.
func uidOf(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	var digits []byte
	for {
		left, zero := 0, true
		for i, v := range b {
			n := left<<8 | int(v)
			b[i], left = byte(n/10), n%10
			zero = zero && b[i] == 0
		}
		digits = append(digits, byte('0'+left))
		if zero {
			break
		}
	}
	slices.Reverse(digits)
	return "2.25." + string(digits)
}

// packed are the bits of masks, one after the other: 1 where a level is 128 or more.
func packed(masks [][]uint8) []byte {
	total := 0
	for _, m := range masks {
		total += len(m)
	}
	out, at := make([]byte, (total+7)/8), 0
	for _, m := range masks {
		for _, v := range m {
			out[at/8] |= v >> 7 << (at % 8)
			at++
		}
	}
	return out
}

// longest is the largest size of an element's value in bytes.
const longest = math.MaxUint32 - 1
