package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"mrprism/internal/protobuf"
)

// field is one field of a message: integer for the wire types varint and fixed, bytes for what has a length.
type field struct {
	number  int
	wire    int
	integer uint64
	bytes   []byte
}

// each calls f for every field of a message, in order, and stops at the first error.
func each(data []byte, f func(field) error) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return fmt.Errorf("%w: bad tag", ErrSyntax)
		}
		data = data[n:]
		at := field{number: int(tag >> 3), wire: int(tag & 7)}
		switch at.wire {
		case protobuf.Varint:
			at.integer, n = binary.Uvarint(data)
			if n <= 0 {
				return fmt.Errorf("%w: field %d: bad integer", ErrSyntax, at.number)
			}
		case protobuf.Fixed64, protobuf.Fixed32:
			n = 8
			if at.wire == protobuf.Fixed32 {
				n = 4
			}
			if len(data) < n {
				return fmt.Errorf("%w: field %d is cut short", ErrSyntax, at.number)
			}
			var whole [8]byte
			copy(whole[:], data[:n])
			at.integer = binary.LittleEndian.Uint64(whole[:])
		case protobuf.Counted:
			length, k := binary.Uvarint(data)
			if k <= 0 || length > uint64(len(data)-k) {
				return fmt.Errorf("%w: field %d is cut short", ErrSyntax, at.number)
			}
			n = k + int(length)
			at.bytes = data[k:n]
		default:
			return fmt.Errorf("%w: field %d has wire type %d", ErrSyntax, at.number, at.wire)
		}
		if err := f(at); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// integers appends a repeated integer: one of several fields, or all packed into one.
func (f field) integers(to []int) ([]int, error) {
	if f.wire != protobuf.Counted {
		return append(to, int(int64(f.integer))), nil
	}
	for b := f.bytes; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%w: field %d: bad integer", ErrSyntax, f.number)
		}
		to, b = append(to, int(int64(v))), b[n:]
	}
	return to, nil
}

// floats appends a repeated float32.
func (f field) floats(to []float64) ([]float64, error) {
	return f.fixed(to, 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
}

// doubles appends a repeated float64.
func (f field) doubles(to []float64) ([]float64, error) {
	return f.fixed(to, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
}

func (f field) fixed(to []float64, size int, value func(b []byte) float64) ([]float64, error) {
	if f.wire != protobuf.Counted {
		return append(to, value(binary.LittleEndian.AppendUint64(nil, f.integer))), nil
	}
	if len(f.bytes)%size != 0 {
		return nil, fmt.Errorf("%w: field %d is cut short", ErrSyntax, f.number)
	}
	for b := f.bytes; len(b) > 0; b = b[size:] {
		to = append(to, value(b))
	}
	return to, nil
}
