package loss_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders/loss"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestDiceLoss(t *testing.T) {
	for _, shape := range [][]int{{2, 5, 7, 3}, {3, 8, 9, 1}, {1, 2, 2, 4}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape, shape}, Fixed: map[int]bool{1: true},
			// above and below the target, never so close that a finite difference would change sides
			Fill: func(input, i int, r *rand.Rand) float64 {
				return 0.2 + 0.25*float64(i%3) + 0.1*float64(input*(1-2*(i/2%2))) + 0.05*r.Float64()
			},
			Build: func(x []*tensor.Tensor) *tensor.Tensor { return loss.Dice(x[0], x[1]) },
		})
	}
	t.Run("by hand", func(t *testing.T) {
		got := shadertest.Evaluate(t, func(g *tensor.Graph) *tensor.Tensor {
			p := g.Constant("p", []float32{1, 0.5 /**/, 1, 0.25 /**/, 0, 0.5}, 1, 3, 1, 2)
			truth := g.Constant("t", []float32{1, 0.5 /**/, 0, 0.25 /**/, 0, 0.5}, 1, 3, 1, 2)
			return loss.Dice(p, truth)
		})
		require.InDelta(t, 1.0/4, got[0], 1e-7, "one pixel of 2 and 1")
		require.Zero(t, got[1], "soft values that agree")
	})
}
