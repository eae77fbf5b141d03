package dicom

import (
	"math"
	"slices"
	"strings"
)

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
