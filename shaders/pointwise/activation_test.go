package pointwise_test

import (
	"math/rand/v2"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"testing"
)

// awayFromZero keeps values clear of ReLU's kink, where finite differences mean nothing.
func awayFromZero(_, _ int, r *rand.Rand) float64 {
	for {
		if v := 2 * r.NormFloat64(); v > 1e-2 || v < -1e-2 {
			return v
		}
	}
}

func TestActivations(t *testing.T) {
	for name, f := range map[string]func(*tensor.Tensor) *tensor.Tensor{"relu": pointwise.ReLU, "gelu": pointwise.GELU, "sigmoid": pointwise.Sigmoid} {
		t.Run(name, func(t *testing.T) {
			for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
				shadertest.Check(t, shadertest.Operator{
					Inputs: [][]int{shape},
					Build:  func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) },
					Fill:   awayFromZero,
					Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
				})
			}
		})
	}
}
