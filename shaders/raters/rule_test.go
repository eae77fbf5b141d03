package raters_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders/raters"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	for _, shape := range [][]int{{2, 9, 8, 3, 2}, {1, 7, 5, 2, 2}} {
		labels := func(g *tensor.Graph) *tensor.Tensor {
			r := rand.New(rand.NewPCG(7, 8))
			z := make([]float32, shape[0]*shape[1]*shape[2]*shape[3]*shape[4])
			for i := range z {
				z[i] = float32(r.IntN(2))
			}
			return g.Constant("z", z, shape...)
		}
		t.Run("likelihood", func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape}, Fill: shadertest.Probability,
				Build: func(x []*tensor.Tensor) *tensor.Tensor {
					g := x[0].Graph()
					return raters.LikelihoodRule(x[0], labels(g), shadertest.OneMissing(g, shape[0], shape[3], shape[4]), 1.3)
				},
			})
		})
		t.Run("agreement", func(t *testing.T) {
			shadertest.Check(t, shadertest.Operator{
				Inputs: [][]int{shape, {shape[0], shape[1], shape[2], shape[4]}}, Fill: shadertest.Probability, Fixed: map[int]bool{1: true},
				Build: func(x []*tensor.Tensor) *tensor.Tensor { return raters.AgreementRule(x[0], x[1]) },
			})
		})
	}
}

func TestWhatNobodyMarkedStaysUnmarked(t *testing.T) {
	// The paper's letter, softmax over classes of Σ_m log z̃·z (PAPER.md §3.3), marks what nobody has
	// marked where all are sure of that: the class without a vote sums to 0, the maximum. Ours must
	// not do that.
	ours := shadertest.Evaluate(t, func(g *tensor.Graph) *tensor.Tensor {
		e := g.Constant("estimate", []float32{.01, .01, .01}, 1, 1, 1, 3, 1)
		votes := g.Constant("z", []float32{0, 0, 0}, 1, 1, 1, 3, 1)
		valid := g.Constant("valid", []float32{1, 1, 1}, 1, 3, 1)
		return raters.Fuse(raters.LikelihoodRule(e, votes, valid, 1), votes, valid)
	})
	require.Equal(t, []float32{0}, ours)
}
