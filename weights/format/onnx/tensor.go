package onnx

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"mrprism/shaders/half"
)

// Tensor is a numeric tensor of any element type. Its values are float64, row by row.
type Tensor struct {
	Name   string
	Type   Type
	Dims   []int // none: a scalar
	Values []float64
}

// Type is an element type, numbered as TensorProto.DataType.
type Type int

// The element types that have a name in this package.
const (
	Float   Type = 1
	Int64   Type = 7
	Float16 Type = 10
	Double  Type = 11
)

var le = binary.LittleEndian

// elements gives the size of an element in raw data, and the value of the element at the beginning
// of b.
var elements = map[Type]struct {
	bytes int
	value func(b []byte) float64
}{
	Float:   {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
	2:       {1, func(b []byte) float64 { return float64(b[0]) }},                // uint8
	3:       {1, func(b []byte) float64 { return float64(int8(b[0])) }},          // int8
	4:       {2, func(b []byte) float64 { return float64(le.Uint16(b)) }},        // uint16
	5:       {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }}, // int16
	6:       {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }}, // int32
	Int64:   {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
	9:       {1, func(b []byte) float64 { return float64(b[0]) }}, // bool
	Float16: {2, func(b []byte) float64 { return float64(half.ToFloat32(le.Uint16(b))) }},
	Double:  {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
	12:      {4, func(b []byte) float64 { return float64(le.Uint32(b)) }}, // uint32
	13:      {8, func(b []byte) float64 { return float64(le.Uint64(b)) }}, // uint64
}

// ParseTensor reads a TensorProto. It refuses tensors of strings and complex numbers, and tensors
// whose values are in another file.
func ParseTensor(data []byte) (*Tensor, error) {
	var r reader
	t := r.tensor(data)
	if r.err != nil {
		return nil, r.err
	}
	return t, nil
}

// tensor decodes a TensorProto.
func (r *reader) tensor(data []byte) *Tensor {
	m := r.fields(data)
	t := &Tensor{Name: m.text(8), Type: Type(m.integer(2)), Dims: r.integers(m[1])}
	t.Values = append(r.numbers(m[4], Float), r.numbers(m[10], Double)...)
	for _, number := range []int{5, 7, 11} { // int32_data, int64_data, uint64_data
		for _, v := range r.integers(m[number]) {
			if t.Type == Float16 { // its bits
				t.Values = append(t.Values, float64(half.ToFloat32(uint16(v))))
			} else {
				t.Values = append(t.Values, float64(v))
			}
		}
	}
	if elements[t.Type].bytes == 0 {
		r.fail("tensor %s: elements of type %d are not read", t.Name, t.Type)
	} else { // raw_data
		t.Values = append(t.Values, r.numbers([]field{{wire: protowire.BytesType, bytes: m.bytes(9)}}, t.Type)...)
	}
	if n := t.Elements(); n != len(t.Values) {
		r.fail("tensor %s: %d values for dimensions %v", t.Name, len(t.Values), t.Dims)
	}
	return t
}

// Elements is the product of the dimensions; -1 if one is negative or the product exceeds an int32.
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
