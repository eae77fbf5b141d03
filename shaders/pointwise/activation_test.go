package pointwise_test

import (
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestActivations(t *testing.T) {
	for name, f := range map[string]func(*tensor.Tensor) *tensor.Tensor{"relu": pointwise.ReLU, "relu6": pointwise.ReLU6, "gelu": pointwise.GELU, "sigmoid": pointwise.Sigmoid} {
		t.Run(name, func(t *testing.T) {
			for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
				shadertest.Check(t, shadertest.Operator{
					Inputs: [][]int{shape},
					Build:  func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) },
					Fill:   shadertest.ClearOf(4, 0, 6), // some lie beyond 6
					Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
				})
			}
		})
	}
}
