package onnx

import "math"

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
