package loss_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/loss"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestCrossEntropy(t *testing.T) {
	for _, shape := range [][]int{{3, 5, 7}, {3, 5, 8}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape, shape}, Fill: shadertest.Probability, Fixed: map[int]bool{1: true},
			Build: func(x []*tensor.Tensor) *tensor.Tensor { return loss.CrossEntropy(x[0], x[1], 0.01) },
		})
	}
	t.Run("gradient passes the clamp", func(t *testing.T) {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{{40}, {40}}, Fixed: map[int]bool{1: true}, Rough: true, RTol: 1e-4,
			Fill:  func(k, _ int, r *rand.Rand) float64 { return []float64{r.Float64() * 0.01, 1}[k] },
			Build: func(x []*tensor.Tensor) *tensor.Tensor { return loss.CrossEntropy(x[0], x[1], 0.01) },
		})
		g := tensor.NewGraph()
		p := g.Input("p", 1).Track()
		l := loss.CrossEntropy(p, g.Constant("t", []float32{1}, 1), 0.01)
		seed := g.Constant("seed", []float32{1}, 1)
		g.Backward(l, seed)
		d := p.Gradient().Keep()
		plan, err := shaders.Compile(t.Context(), reference.Open(), tensor.NewSet(), g)
		require.NoError(t, err)
		require.NoError(t, plan.Write(p, []float32{1e-6}))
		require.NoError(t, plan.Run(t.Context()))
		got, err := plan.Read(t.Context(), d)
		require.NoError(t, err)
		require.InDelta(t, -100, got[0][0], 1e-3) // (p̂ − 1)/(p̂ (1 − p̂)) = −1/p̂ at p̂ = 0.01
	})
}
