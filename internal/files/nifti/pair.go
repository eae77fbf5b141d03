package nifti

import (
	"encoding/binary"
	"slices"

	"mrprism/internal/files/raster"
)

// errPair is the error of a header whose values are in a second file.
var errPair = raster.Refused{
	Problem: "this is the header of a NIfTI volume (.hdr); its values are in a file of the same name that ends in .img",
	Advice:  "give both files together, in one folder",
}

// IsHeader reports whether data begins with a header of a pair of files.
func IsHeader(data []byte) bool {
	return len(data) >= sizeOne && (string(data[344:348]) == "ni1\x00" || string(data[4:12]) == "ni2\x00\r\n\x1a\n")
}

// missing is the error if data ends before the last value.
func (h *header) missing(data []byte) error {
	if IsHeader(data) && int64(len(data)) <= h.offset+4 { // up to four bytes say that extensions follow
		return errPair
	}
	return raster.ErrShort
}

// headSize is the size of the header that data begins with.
func headSize(data []byte) int {
	if string(data[4:6]) == "ni" && binary.LittleEndian.Uint32(data) != sizeOne {
		return sizeTwo
	}
	return sizeOne
}

// Join makes one file of a pair: the header, followed by the values. Open and Read can read it.
func Join(header, values []byte) []byte {
	return slices.Concat(header[:min(len(header), headSize(header))], values)
}
