package shaders

import (
	"mrprism/internal/compute/tensor"
	"testing"
)

func TestStraightThrough(t *testing.T) {
	for _, f := range []func(x *tensor.Tensor) *tensor.Tensor{
		func(x *tensor.Tensor) *tensor.Tensor { return Threshold(x, 0.5) },
		func(x *tensor.Tensor) *tensor.Tensor { return Clamp(x, 0.3, 0.6) },
	} {
		for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape}, fill: probability, rough: true, // the gradient is stated, not the derivative
				build: func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) },
			})
		}
	}
}
