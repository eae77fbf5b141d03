package shaders

import (
	"fmt"
	"math/rand/v2"
	"mrprism/internal/compute/tensor"
	"testing"
)

func TestAttention(t *testing.T) {
	for _, c := range []struct{ batch, queries, keys, heads, width int }{
		{1, 70, 33, 2, 64}, // first, for variants that run as one program: the most registers
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
				o := operatorTest{
					inputs: [][]int{{c.batch, c.queries, channels}, {c.batch, c.keys, 2 * channels}},
					build:  func(x []*tensor.Tensor) *tensor.Tensor { return Attention(x[0], x[1], c.heads) },
					fixed:  fixed, rough: large, // finite differences would take minutes
					// Scores of deviation 3 make attention sharp; exp2 of a device errs by 3 ulp of 2^(3 + 2|x|) here.
					fill: func(input, _ int, r *rand.Rand) float64 {
						if input == 0 {
							return 3 * r.NormFloat64()
						}
						return r.NormFloat64()
					},
					rtol: 2e-5, atol: 2e-5,
				}
				if fixed == nil && (c.width == 64 || c.width == 8 || c.width == 5) { // what differs between widths is a constant; compiling takes most of the time
					o.half, o.mixed = 4*rounded, 4*rounded // attention.wgsl keeps its mean in storage, and rounds it after every 8 keys of up to 70
				}
				checkOperator(t, o)
			}
		})
	}
}

// A sum over many keys is beyond f16 where their mean is not.
func TestAttentionOfManyKeys(t *testing.T) {
	checkOperator(t, operatorTest{
		inputs: [][]int{{1, 9, 16}, {1, 1024, 32}},
		build:  func(x []*tensor.Tensor) *tensor.Tensor { return Attention(x[0], x[1], 1) },
		fill: func(input, i int, r *rand.Rand) float64 {
			if input == 1 && i%32 >= 16 {
				return 70 + r.NormFloat64()
			}
			return r.NormFloat64() / 4
		},
		rough: true, rtol: 2e-5, atol: 2e-5, half: 4 * rounded, // of 128 roundings of the mean, the early ones count little
	})
}
