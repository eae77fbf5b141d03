package weights

import (
	"encoding/binary"
	"fmt"
	"math"

	"mrprism/shaders/half"
)

// DType is a tensor's element type as written in the header.
type DType string

// The element types that programs name. dtypes has all types.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I8   DType = "I8"
)

var le = binary.LittleEndian

// dtypes holds every element type of the format: its size in bits, and the decoder of the element
// at the beginning of b. A type without a decoder is valid in a file, but we cannot decode it.
var dtypes = map[DType]struct {
	bits   uint64
	decode func(b []byte) float32
}{
	F64:       {64, func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) }},
	F32:       {32, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }},
	F16:       {16, func(b []byte) float32 { return half.ToFloat32(le.Uint16(b)) }},
	BF16:      {16, func(b []byte) float32 { return math.Float32frombits(uint32(le.Uint16(b)) << 16) }},
	"I64":     {64, func(b []byte) float32 { return float32(int64(le.Uint64(b))) }},
	"I32":     {32, func(b []byte) float32 { return float32(int32(le.Uint32(b))) }},
	"I16":     {16, func(b []byte) float32 { return float32(int16(le.Uint16(b))) }},
	I8:        {8, func(b []byte) float32 { return float32(int8(b[0])) }},
	"U64":     {64, func(b []byte) float32 { return float32(le.Uint64(b)) }},
	"U32":     {32, func(b []byte) float32 { return float32(le.Uint32(b)) }},
	"U16":     {16, func(b []byte) float32 { return float32(le.Uint16(b)) }},
	"U8":      {8, func(b []byte) float32 { return float32(b[0]) }},
	"BOOL":    {8, func(b []byte) float32 { return float32(b[0]) }},
	"C64":     {bits: 64},
	"F8_E5M2": {bits: 8},
	"F8_E4M3": {bits: 8},
	"F8_E8M0": {bits: 8},
	"F6_E2M3": {bits: 6},
	"F6_E3M2": {bits: 6},
	"F4":      {bits: 4},
}

// Tensor is one named array. Data is little-endian, row by row. In a file from [Decode], Data
// shares the memory of the decoded bytes.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte
}

// NewF32 returns a tensor of float32 values. It panics if the values do not fill the shape.
func NewF32(name string, shape []int, values []float32) Tensor {
	t := Tensor{Name: name, DType: F32, Shape: append([]int{}, shape...), Data: make([]byte, 4*len(values))}
	if t.Elements() != len(values) {
		panic(fmt.Sprintf("weights: %s: %d values for shape %v", name, len(values), shape))
	}
	for i, v := range values {
		le.PutUint32(t.Data[4*i:], math.Float32bits(v))
	}
	return t
}

// Elements is the product of the shape, 1 for a scalar.
func (t *Tensor) Elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Float32 decodes the values. It rounds 64-bit values and wide integers to the nearest float32. A
// value that is not finite as a float32 is an error that names the tensor and the position.
func (t *Tensor) Float32() ([]float32, error) {
	values := make([]float32, t.Elements())
	kind, known := dtypes[t.DType]
	if !known || uint64(len(t.Data))*8 != uint64(len(values))*kind.bits {
		return nil, fmt.Errorf("weights: tensor %s: %d bytes do not hold %d elements of %s", t.Name, len(t.Data), len(values), t.DType)
	}
	if kind.decode == nil {
		return nil, fmt.Errorf("weights: tensor %s: element type %s cannot be read as float32; save it as F32 or F16", t.Name, t.DType)
	}
	size := int(kind.bits / 8)
	for i := range values {
		v := kind.decode(t.Data[size*i:])
		if v-v != 0 { // 0 for a finite v, NaN otherwise
			return nil, fmt.Errorf("weights: tensor %s: element %d is %v; the file is damaged or comes from a training run that diverged, "+
				"use an earlier checkpoint", t.Name, i, v)
		}
		values[i] = v
	}
	return values, nil
}
