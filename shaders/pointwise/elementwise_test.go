package pointwise_test

import (
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestAddAndScale(t *testing.T) {
	for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape, shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Scale(pointwise.Add(x[0], x[1]), -1.5) },
			Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, // the sum, then its multiple
		})
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Add(x[0], x[0]) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
		})
	}
}

func TestMultiply(t *testing.T) {
	for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape, shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Multiply(x[0], x[1]) },
			Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
		})
		shadertest.Check(t, shadertest.Operator{ // both gradients add to one
			Inputs: [][]int{shape},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Add(pointwise.Multiply(x[0], x[0]), x[0]) },
			Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded,
		})
	}
}
