package onnxtest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"mrprism/shaders/half"
	"mrprism/weights/format/onnx"
)

var le = binary.LittleEndian

// elements gives the size of an element in raw data, and the value of the element at the beginning
// of b.
var elements = map[onnx.Type]struct {
	bytes int
	value func(b []byte) float64
}{
	onnx.Float:   {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
	2:            {1, func(b []byte) float64 { return float64(b[0]) }},                // uint8
	3:            {1, func(b []byte) float64 { return float64(int8(b[0])) }},          // int8
	4:            {2, func(b []byte) float64 { return float64(le.Uint16(b)) }},        // uint16
	5:            {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }}, // int16
	6:            {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }}, // int32
	onnx.Int64:   {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
	9:            {1, func(b []byte) float64 { return float64(b[0]) }}, // bool
	onnx.Float16: {2, func(b []byte) float64 { return float64(half.ToFloat32(le.Uint16(b))) }},
	onnx.Double:  {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
	12:           {4, func(b []byte) float64 { return float64(le.Uint32(b)) }}, // uint32
	13:           {8, func(b []byte) float64 { return float64(le.Uint64(b)) }}, // uint64
}

// ParseTensor reads a TensorProto. It refuses tensors of strings and complex numbers, and tensors
// whose values are in another file.
func ParseTensor(data []byte) (*onnx.Tensor, error) {
	var r reader
	t := r.tensor(data)
	if r.err != nil {
		return nil, r.err
	}
	return t, nil
}

// tensor decodes a TensorProto.
func (r *reader) tensor(data []byte) *onnx.Tensor {
	m := r.fields(data)
	t := &onnx.Tensor{Name: m.text(8), Type: onnx.Type(m.integer(2)), Dims: r.integers(m[1])}
	t.Values = append(r.numbers(m[4], onnx.Float), r.numbers(m[10], onnx.Double)...)
	for _, number := range []int{5, 7, 11} { // int32_data, int64_data, uint64_data
		for _, v := range r.integers(m[number]) {
			if t.Type == onnx.Float16 { // its bits
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
