package weights

import (
	"encoding/binary"
	"fmt"
	"math"

	"mrprism/internal/half"
)

// DType is a tensor's element type as written in the header.
type DType string

// The element types that can be decoded to float32.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	I16  DType = "I16"
	I8   DType = "I8"
	U64  DType = "U64"
	U32  DType = "U32"
	U16  DType = "U16"
	U8   DType = "U8"
	Bool DType = "BOOL"
)

// dtypeBits is every element type the format knows. Those without a constant above are valid in a file and cannot be decoded.
var dtypeBits = map[DType]uint64{
	F64: 64, F32: 32, F16: 16, BF16: 16,
	I64: 64, I32: 32, I16: 16, I8: 8,
	U64: 64, U32: 32, U16: 16, U8: 8, Bool: 8,
	"C64": 64, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}

// Tensor is one named array. Data is little-endian, row-major, and after [Decode] a part of the decoded file's bytes.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte
}

// NewF32 returns a tensor of float32 values. It panics if values do not fill the shape.
func NewF32(name string, shape []int, values []float32) Tensor {
	t := Tensor{Name: name, DType: F32, Shape: append([]int{}, shape...), Data: make([]byte, 4*len(values))}
	if t.Elements() != len(values) {
		panic(fmt.Sprintf("weights: %s: %d values for shape %v", name, len(values), shape))
	}
	for i, v := range values {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(v))
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

// Float32 decodes the values; 64-bit and wide integer values are rounded to the nearest float32. It refuses a value that is not
// finite, or is not finite as a float32, naming the tensor and the position.
func (t *Tensor) Float32() ([]float32, error) {
	values := make([]float32, t.Elements())
	bits, known := dtypeBits[t.DType]
	if !known || uint64(len(t.Data))*8 != uint64(len(values))*bits {
		return nil, fmt.Errorf("weights: tensor %s: %d bytes do not hold %d elements of %s", t.Name, len(t.Data), len(values), t.DType)
	}
	at := t.reader()
	if at == nil {
		return nil, fmt.Errorf("weights: tensor %s: element type %s cannot be read as float32; save it as F32 or F16", t.Name, t.DType)
	}
	for i := range values {
		v := at(i)
		// v - v is 0 for finite v, NaN otherwise.
		if v-v != 0 {
			return nil, &NotFiniteError{Tensor: t.Name, Index: i, Value: v}
		}
		values[i] = v
	}
	return values, nil
}

// reader returns the decoder of element i, or nil for an element type without one.
func (t *Tensor) reader() func(i int) float32 {
	le, b := binary.LittleEndian, t.Data
	switch t.DType {
	case F64:
		return func(i int) float32 { return float32(math.Float64frombits(le.Uint64(b[8*i:]))) }
	case F32:
		return func(i int) float32 { return math.Float32frombits(le.Uint32(b[4*i:])) }
	case F16:
		return func(i int) float32 { return half.ToFloat32(le.Uint16(b[2*i:])) }
	case BF16:
		return func(i int) float32 { return math.Float32frombits(uint32(le.Uint16(b[2*i:])) << 16) }
	case I64:
		return func(i int) float32 { return float32(int64(le.Uint64(b[8*i:]))) }
	case I32:
		return func(i int) float32 { return float32(int32(le.Uint32(b[4*i:]))) }
	case I16:
		return func(i int) float32 { return float32(int16(le.Uint16(b[2*i:]))) }
	case I8:
		return func(i int) float32 { return float32(int8(b[i])) }
	case U64:
		return func(i int) float32 { return float32(le.Uint64(b[8*i:])) }
	case U32:
		return func(i int) float32 { return float32(le.Uint32(b[4*i:])) }
	case U16:
		return func(i int) float32 { return float32(le.Uint16(b[2*i:])) }
	case U8, Bool:
		return func(i int) float32 { return float32(b[i]) }
	}
	return nil
}

// NotFiniteError says that a weight is NaN or infinite.
type NotFiniteError struct {
	Tensor string
	Index  int // row-major position
	Value  float32
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("weights: tensor %s: element %d is %v; the file is damaged or comes from a training run that diverged, use an earlier checkpoint",
		e.Tensor, e.Index, e.Value)
}
