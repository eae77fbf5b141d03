package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"mrprism/internal/half"
)

// Tensor is a numeric tensor of any element type, its values row by row as float64.
type Tensor struct {
	Name   string
	Type   Type
	Dims   []int // none: a scalar
	Values []float64
}

// Type is an element type, numbered as TensorProto.DataType.
type Type int

// Element types that are told apart.
const (
	Float   Type = 1
	Int64   Type = 7
	Float16 Type = 10
	Double  Type = 11
)

// elementBytes is the size of an element in raw data.
var elementBytes = map[Type]int{1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8}

// ParseTensor reads a TensorProto. Tensors of strings and complex numbers, and those stored in another file, are refused.
func ParseTensor(data []byte) (*Tensor, error) {
	t := &Tensor{}
	var raw []byte
	err := each(data, func(f field) (err error) {
		switch f.number {
		case 1:
			t.Dims, err = f.integers(t.Dims)
		case 2:
			t.Type = Type(f.integer)
		case 4:
			t.Values, err = f.floats(t.Values)
		case 5, 7, 11: // int32_data, int64_data, uint64_data
			var values []int
			values, err = f.integers(nil)
			for _, v := range values {
				t.Values = append(t.Values, t.Type.fromInteger(v))
			}
		case 8:
			t.Name = string(f.bytes)
		case 9:
			raw = f.bytes
		case 10:
			t.Values, err = f.doubles(t.Values)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("onnx: tensor %s: %w", t.Name, err)
	}
	size := elementBytes[t.Type]
	if size == 0 {
		return nil, fmt.Errorf("onnx: tensor %s: elements of type %d are not read", t.Name, t.Type)
	}
	for ; len(raw) >= size; raw = raw[size:] {
		t.Values = append(t.Values, t.Type.fromRaw(raw))
	}
	if n := t.Elements(); n != len(t.Values) || len(raw) > 0 {
		return nil, fmt.Errorf("onnx: tensor %s: %w: %d values and %d more bytes for dimensions %v", t.Name, ErrSyntax, len(t.Values), len(raw), t.Dims)
	}
	return t, nil
}

// Elements is the product of the dimensions, -1 where one is negative or the product has no place in an int32.
func (t *Tensor) Elements() int {
	n := 1
	for _, d := range t.Dims {
		if d < 0 || d > math.MaxInt32 || n*d > math.MaxInt32 {
			return -1
		}
		n *= d
	}
	return n
}

// fromInteger is the value of an element stored in int32_data; half floats lie there as their bits.
func (t Type) fromInteger(v int) float64 {
	if t == Float16 {
		return float64(half.ToFloat32(uint16(v)))
	}
	return float64(v)
}

// fromRaw is the value of the element at the beginning of raw data.
func (t Type) fromRaw(b []byte) float64 {
	e := binary.LittleEndian
	switch t {
	case Float:
		return float64(math.Float32frombits(e.Uint32(b)))
	case Double:
		return math.Float64frombits(e.Uint64(b))
	case Float16:
		return float64(half.ToFloat32(e.Uint16(b)))
	case 2, 9: // uint8, bool
		return float64(b[0])
	case 3: // int8
		return float64(int8(b[0]))
	case 4: // uint16
		return float64(e.Uint16(b))
	case 5: // int16
		return float64(int16(e.Uint16(b)))
	case 12: // uint32
		return float64(e.Uint32(b))
	case 13: // uint64
		return float64(e.Uint64(b))
	case 6: // int32
		return float64(int32(e.Uint32(b)))
	}
	return float64(int64(e.Uint64(b)))
}
