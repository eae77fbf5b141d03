package pointwise_test

import (
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"testing"
)

func TestStraightThrough(t *testing.T) {
	for _, f := range []func(x *tensor.Tensor) *tensor.Tensor{
		func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Threshold(x, 0.5) },
		func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Clamp(x, 0.3, 0.6) },
	} {
		for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape}, Fill: shadertest.Probability, Rough: true, // the gradient is stated, not the derivative
				Build: func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) },
			})
		}
	}
}
