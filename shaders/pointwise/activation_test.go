package pointwise_test

import (
	"math"
	"math/rand/v2"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

// awayFromKinks keeps values clear of the kinks of ReLU and ReLU6, where finite differences mean
// nothing. Some values lie beyond 6.
func awayFromKinks(_, _ int, r *rand.Rand) float64 {
	for {
		if v := 4 * r.NormFloat64(); math.Abs(v) > 1e-2 && math.Abs(v-6) > 1e-2 {
			return v
		}
	}
}

func TestActivations(t *testing.T) {
	for name, f := range map[string]func(*tensor.Tensor) *tensor.Tensor{"relu": pointwise.ReLU, "relu6": pointwise.ReLU6, "gelu": pointwise.GELU, "sigmoid": pointwise.Sigmoid} {
		t.Run(name, func(t *testing.T) {
			for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
				shadertest.Check(t, shadertest.Operator{
					Inputs: [][]int{shape},
					Build:  func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) },
					Fill:   awayFromKinks,
					Half:   shadertest.Rounded, Mixed: shadertest.Rounded,
				})
			}
		})
	}
}
