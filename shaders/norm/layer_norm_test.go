package norm_test

import (
	"math/rand/v2"
	"mrprism/shaders/norm"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestLayerNorm(t *testing.T) {
	for _, shape := range [][]int{{1, 2}, {7, 5}, {2, 33, 16}, {3, 70, 64}, {2, 600, 3}, {4100, 8}, {4100, 3}} {
		c := shape[len(shape)-1]
		for _, fixed := range []map[int]bool{nil, {0: true, 2: true}, {1: true}} {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape, {c}, {c}},
				Build:  func(x []*tensor.Tensor) *tensor.Tensor { return norm.LayerNorm(x[0], x[1], x[2], 1e-5) },
				Fixed:  fixed,
				// Rows far from zero, the hard case for variances; f32 keeps 6e-8 of the mean, 3,
				// in units of the deviation, 1.
				Fill: func(input, _ int, r *rand.Rand) float64 { return 3 + r.NormFloat64() },
				RTol: 2e-5, ATol: 1e-5, Half: shadertest.Rounded, Mixed: shadertest.Rounded, Params: []int{1, 2},
				FD: 1e-4, // two channels are a step function of their difference: the third derivative is large
			})
		}
	}
}
