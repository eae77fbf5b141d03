package pointwise_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
)

func TestActivations(t *testing.T) {
	some := shadertest.ClearOf(4, 0, 6) // some lie beyond 6
	for name, test := range map[string]struct {
		function func(x *tensor.Tensor) *tensor.Tensor
		fill     func(input, i int, r *rand.Rand) float64
	}{
		"relu":       {pointwise.ReLU, some},
		"relu6":      {pointwise.ReLU6, some},
		"gelu":       {pointwise.GELU, some},
		"sigmoid":    {pointwise.Sigmoid, some},
		"exp":        {pointwise.Exp, shadertest.ClearOf(1)},
		"log":        {pointwise.Log, above(0.1)},
		"abs":        {pointwise.Abs, some},
		"reciprocal": {pointwise.Reciprocal, func(_, i int, r *rand.Rand) float64 { return float64(1-i%2*2) * above(0.3)(0, i, r) }},
		"affine":     {func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Affine(x, -2, 0.5) }, some},
		"tanh": {func(x *tensor.Tensor) *tensor.Tensor { // composed
			return pointwise.Affine(pointwise.Sigmoid(pointwise.Scale(x, 2)), 2, -1)
		}, shadertest.ClearOf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
				shadertest.Check(t, shadertest.Operator{
					Inputs: [][]int{shape},
					Build:  func(x []*tensor.Tensor) *tensor.Tensor { return test.function(x[0]) },
					Fill:   test.fill,
					Half:   2 * shadertest.Rounded, Mixed: 2 * shadertest.Rounded, // composed ones round more often
				})
			}
		})
	}
}

// above draws values of a domain that begins above 0.
func above(least float64) func(_, _ int, r *rand.Rand) float64 {
	return func(_, _ int, r *rand.Rand) float64 { return least + 2*r.Float64() }
}
