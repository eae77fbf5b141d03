// Package dicomtest makes DICOM files for tests.
package dicomtest

import (
	"encoding/binary"
	"slices"
)

// UIDs by which a DICOM SEG refers to its source.
const (
	Class    = 0x00080016
	Instance = 0x00080018
	Study    = 0x0020000d
	Series   = 0x0020000e
)

// Grey is a file of w × h pixels of 8 bits, with explicit values in little-endian order. It leaves
// out the tags that it lacks.
func Grey(w, h int, pixels []uint8, lacks ...uint32) []byte {
	text := func(s string) []byte { return []byte(s + "\x00"[:len(s)%2]) }
	word := func(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
	var set []byte
	add := func(tag uint32, kind string, value []byte) {
		if slices.Contains(lacks, tag) {
			return
		}
		set = append(set, byte(tag>>16), byte(tag>>24), byte(tag), byte(tag>>8))
		set = append(set, kind...)
		if kind == "OB" {
			set = binary.LittleEndian.AppendUint32(append(set, 0, 0), uint32(len(value)))
		} else {
			set = append(set, word(len(value))...)
		}
		set = append(set, value...)
	}
	add(0x00020010, "UI", text("1.2.840.10008.1.2.1"))
	meta := len(set)
	add(Class, "UI", text("1.2.840.10008.5.1.4.1.1.7"))
	add(Instance, "UI", text("1.2.3.1"))
	add(Study, "UI", text("1.2.3.2"))
	add(Series, "UI", text("1.2.3.3"))
	add(0x00280002, "US", word(1))
	add(0x00280004, "CS", []byte("MONOCHROME2 "))
	for i, tag := range []uint32{0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102, 0x00280103} {
		add(tag, "US", word([]int{h, w, 8, 8, 7, 0}[i]))
	}
	add(0x7fe00010, "OB", append(slices.Clone(pixels), make([]byte, len(pixels)%2)...))
	head := append(make([]byte, 128), "DICM\x02\x00\x00\x00UL\x04\x00"...)
	return append(binary.LittleEndian.AppendUint32(head, uint32(meta)), set...)
}
