package pool_test

import (
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestGaussianBlur(t *testing.T) {
	shadertest.Check(t, shadertest.Operator{
		Inputs: [][]int{{2, 7, 13, 3}},
		Build:  func(x []*tensor.Tensor) *tensor.Tensor { return pool.GaussianBlur(x[0], 1.5, 5) },
	})
	shadertest.Check(t, shadertest.Operator{ // quads, and more than one gradient
		Inputs: [][]int{{2, 17, 3, 4}}, Half: shadertest.Rounded,
		Build: func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Add(x[0], pool.GaussianBlur(x[0], 1.5, 5)) },
	})
}
