// Package npy writes maps that NumPy's load reads.
//
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.
package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Encode writes a map of h lines of w values as float32 in C order, version 1.
func Encode(h, w int, values []float32) []byte {
	const head, block = 10, 64 // bytes before the header's text, which ends at a multiple of 64
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", h, w)
	text += strings.Repeat(" ", block-1-(head+len(text))%block) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	b = append(b, text...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
