package shaders

import (
	"mrprism/internal/compute/tensor"
	"testing"
)

func TestGaussianBlur(t *testing.T) {
	checkOperator(t, operatorTest{
		inputs: [][]int{{2, 7, 13, 3}},
		build:  func(x []*tensor.Tensor) *tensor.Tensor { return GaussianBlur(x[0], 1.5, 5) },
	})
	checkOperator(t, operatorTest{ // quads, and more than one gradient
		inputs: [][]int{{2, 17, 3, 4}}, half: rounded,
		build: func(x []*tensor.Tensor) *tensor.Tensor { return Add(x[0], GaussianBlur(x[0], 1.5, 5)) },
	})
}
