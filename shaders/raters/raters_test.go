package raters_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders/raters"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// ratersShapes are maps (B, H, W, M, K) whose blocks are of one pixel, and in quads of four, two
// and one; in the last a block would be too large.
var ratersShapes = [][]int{{2, 3, 5, 4, 2}, {1, 4, 3, 3, 1}, {2, 3, 6, 2, 2}, {2, 3, 5, 2, 4}, {1, 2, 4, 30, 3}}

func TestFuse(t *testing.T) {
	for _, shape := range ratersShapes {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape, shape},
			Build: func(x []*tensor.Tensor) *tensor.Tensor {
				return raters.Fuse(x[0], x[1], shadertest.OneMissing(x[0].Graph(), shape[0], shape[3], shape[4]))
			},
		})
	}
}

func TestRaters(t *testing.T) {
	for _, shape := range ratersShapes {
		count := shape[3]
		t.Run("weigh", func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape},
				Build: func(x []*tensor.Tensor) *tensor.Tensor {
					share := make([]float32, shape[0]*count*shape[4])
					for i := range share {
						share[i] = float32(i%5) / 4
					}
					return raters.Weigh(x[0], x[0].Graph().Constant("share", share, shape[0], count, shape[4]))
				},
			})
		})
		t.Run("shuffle", func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape}, Fixed: map[int]bool{0: true}, Rough: true, // no gradient by definition
				Build: func(x []*tensor.Tensor) *tensor.Tensor {
					order, scale, offset := make([]uint32, count), make([]float32, count), make([]float32, count)
					for m := range order {
						order[m], scale[m], offset[m] = uint32((m+count-1)%count), float32(m%3)/2, float32(m%2)
					}
					g := x[0].Graph()
					return raters.Shuffle(x[0], raters.Reweighting{
						Order: g.ConstantUint32("order", order, count),
						Scale: g.Constant("scale", scale, count), Offset: g.Constant("offset", offset, count),
					})
				},
			})
		})
		t.Run("disputed", func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape}, Fixed: map[int]bool{0: true}, Rough: true,
				Fill: func(_, i int, _ *rand.Rand) float64 { return float64(i / 7 % 2) },
				Build: func(x []*tensor.Tensor) *tensor.Tensor {
					return raters.Disputed(x[0], shadertest.OneMissing(x[0].Graph(), shape[0], count, shape[4]))
				},
			})
		})
	}
	t.Run("disputed is where valid raters differ", func(t *testing.T) {
		got := shadertest.Evaluate(t, func(g *tensor.Graph) *tensor.Tensor {
			z := g.Constant("z", []float32{1, 0, 1 /**/, 0, 0, 0 /**/, 1, 1, 0}, 1, 1, 3, 3, 1)
			return raters.Disputed(z, g.Constant("valid", []float32{1, 0, 1}, 1, 3, 1))
		})
		require.Equal(t, []float32{0, 0, 1}, got)
	})
}
