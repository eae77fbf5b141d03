package shaders

import (
	"math/rand/v2"
	"mrprism/internal/compute/tensor"
	"testing"
)

func TestLayerNorm(t *testing.T) {
	for _, shape := range [][]int{{1, 2}, {7, 5}, {2, 33, 16}, {3, 70, 64}, {2, 600, 3}} {
		c := shape[len(shape)-1]
		for _, fixed := range []map[int]bool{nil, {0: true, 2: true}, {1: true}} {
			checkOperator(t, operatorTest{
				inputs: [][]int{shape, {c}, {c}},
				build:  func(x []*tensor.Tensor) *tensor.Tensor { return LayerNorm(x[0], x[1], x[2], 1e-5) },
				fixed:  fixed,
				// Rows far from zero, the hard case for variances; f32 keeps 6e-8 of the mean, 3, in units of the deviation, 1.
				fill: func(input, _ int, r *rand.Rand) float64 { return 3 + r.NormFloat64() },
				rtol: 2e-5, atol: 1e-5, half: rounded, mixed: rounded, params: []int{1, 2},
				fd: 1e-4, // two channels are a step function of their difference: the third derivative is large
			})
		}
	}
}
