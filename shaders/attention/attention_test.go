package attention_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"mrprism/shaders/attention"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"testing"
)

func TestAttention(t *testing.T) {
	for _, c := range []struct{ batch, queries, keys, heads, width int }{
		{1, 70, 33, 2, 64}, // first, with the most registers: the first program stands for its variant
		{1, 1, 1, 1, 1}, {2, 5, 3, 2, 4}, {1, 33, 70, 3, 8}, {2, 64, 64, 2, 16},
		{2, 19, 13, 3, 32}, {1, 9, 6, 2, 5}, {1, 6, 21, 1, 63}, {1, 520, 300, 1, 4},
	} {
		channels := c.heads * c.width
		t.Run(fmt.Sprintf("N%d_L%d_H%d_d%d", c.queries, c.keys, c.heads, c.width), func(t *testing.T) {
			for _, fixed := range []map[int]bool{nil, {0: true}, {1: true}} {
				large := c.queries*c.keys > 1<<14
				if large && fixed != nil {
					return
				}
				o := shadertest.Operator{
					Inputs: [][]int{{c.batch, c.queries, channels}, {c.batch, c.keys, 2 * channels}},
					Build:  func(x []*tensor.Tensor) *tensor.Tensor { return attention.Attention(x[0], x[1], c.heads) },
					Fixed:  fixed, Rough: large, // finite differences would take minutes
					// Scores of deviation 3 make attention sharp. exp2 of a device errs by 3 + 2|x|
					// units of its last place.
					Fill: func(input, _ int, r *rand.Rand) float64 {
						if input == 0 {
							return 3 * r.NormFloat64()
						}
						return r.NormFloat64()
					},
					RTol: 2e-5, ATol: 2e-5,
				}
				// Compiling takes most of the time, and widths differ in a constant alone: three
				// are enough.
				if fixed == nil && (c.width == 64 || c.width == 8 || c.width == 5) {
					// attention.wgsl keeps its mean in storage, and rounds it after every 8 keys of
					// up to 70.
					o.Half, o.Mixed = 4*shadertest.Rounded, 4*shadertest.Rounded
				}
				shadertest.Check(t, o)
			}
		})
	}
}

// The sum of many values is beyond f16. Their mean, which attention.wgsl stores, is not.
func TestAttentionOfManyKeys(t *testing.T) {
	shadertest.Check(t, shadertest.Operator{
		Inputs: [][]int{{1, 9, 16}, {1, 1024, 32}},
		Build:  func(x []*tensor.Tensor) *tensor.Tensor { return attention.Attention(x[0], x[1], 1) },
		Fill: func(input, i int, r *rand.Rand) float64 {
			if input == 1 && i%32 >= 16 {
				return 70 + r.NormFloat64()
			}
			return r.NormFloat64() / 4
		},
		Rough: true, RTol: 2e-5, ATol: 2e-5, Half: 4 * shadertest.Rounded, // of 128 roundings of the mean, the early ones count little
	})
}

// All scores of a query are near 200 or -200, which e^score does not hold in float32.
func TestAttentionOfFarScores(t *testing.T) {
	for _, width := range []int{4, 8} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{{1, 6, width}, {1, 21, 2 * width}},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return attention.Attention(x[0], x[1], 1) },
			Fill: func(input, i int, r *rand.Rand) float64 {
				sign := 1.
				if input == 0 && i/width%2 == 0 {
					sign = -1
				}
				return sign * (14/math.Pow(float64(width), .25) + r.NormFloat64()/4)
			},
			Rough: true, RTol: 3e-4, ATol: 3e-4,
		})
	}
}
