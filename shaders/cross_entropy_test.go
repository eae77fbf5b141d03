package shaders

import (
	"math/rand/v2"
	"testing"

	"mrprism/internal/compute/gpu/reference"
	"mrprism/internal/compute/tensor"

	"github.com/stretchr/testify/require"
)

func TestCrossEntropy(t *testing.T) {
	for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
		checkOperator(t, operatorTest{
			inputs: [][]int{shape, shape}, fill: probability, fixed: map[int]bool{1: true},
			build: func(x []*tensor.Tensor) *tensor.Tensor { return CrossEntropy(x[0], x[1], 0.01) },
		})
	}
	t.Run("gradient passes the clamp", func(t *testing.T) {
		checkOperator(t, operatorTest{
			inputs: [][]int{{40}, {40}}, fixed: map[int]bool{1: true}, rough: true, rtol: 1e-4,
			fill:  func(k, _ int, r *rand.Rand) float64 { return []float64{r.Float64() * 0.01, 1}[k] },
			build: func(x []*tensor.Tensor) *tensor.Tensor { return CrossEntropy(x[0], x[1], 0.01) },
		})
		g := tensor.NewGraph()
		p := g.Input("p", 1).Track()
		l := CrossEntropy(p, g.Constant("t", []float32{1}, 1), 0.01)
		seed := g.Constant("seed", []float32{1}, 1)
		g.Backward(l, seed)
		d := p.Gradient().Keep()
		plan, err := Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
		require.NoError(t, err)
		require.NoError(t, plan.Write(p, []float32{1e-6}))
		require.NoError(t, plan.Run(t.Context()))
		got, err := plan.Read(t.Context(), d)
		require.NoError(t, err)
		require.InDelta(t, -100, got[0][0], 1e-3) // (p̂ − 1)/(p̂ (1 − p̂)) = −1/p̂ at p̂ = 0.01
	})
}
