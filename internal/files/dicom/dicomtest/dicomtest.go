// Package dicomtest makes DICOM files for tests.
package dicomtest

import (
	"encoding/binary"
	"slices"

	"mrprism/internal/files/dicom/elements"
)

// UIDs by which a DICOM SEG refers to its source.
const (
	Class    = 0x00080016
	Instance = 0x00080018
	Study    = 0x0020000d
	Series   = 0x0020000e
)

// Grey is a file of w × h pixels of 8 bits, with explicit values in little-endian order. It leaves
// out the UIDs that it lacks.
func Grey(w, h int, pixels []uint8, lacks ...uint32) []byte {
	var set elements.Set
	for i, tag := range []uint32{Class, Instance, Study, Series} {
		if !slices.Contains(lacks, tag) {
			set.Text(tag, "UI", []string{"1.2.840.10008.5.1.4.1.1.7", "1.2.3.1", "1.2.3.2", "1.2.3.3"}[i])
		}
	}
	set.Words(0x00280002, 1)
	set.Text(0x00280004, "CS", "MONOCHROME2")
	for i, tag := range []uint32{0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102, 0x00280103} {
		set.Words(tag, []int{h, w, 8, 8, 7, 0}[i])
	}
	set.Bytes(0x7fe00010, "OB", pixels)
	return file(set)
}

// file is a file with explicit values in little-endian order.
func file(set elements.Set) []byte {
	var meta elements.Set
	meta.Text(0x00020010, "UI", "1.2.840.10008.1.2.1")
	head := append(make([]byte, 128), "DICM\x02\x00\x00\x00UL\x04\x00"...)
	return slices.Concat(binary.LittleEndian.AppendUint32(head, uint32(len(meta))), meta, set)
}
