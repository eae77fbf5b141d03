package shaders

import (
	"testing"

	"mrprism/internal/compute/tensor"

	"github.com/stretchr/testify/require"
)

func TestSSIM(t *testing.T) {
	checkOperator(t, operatorTest{
		inputs: [][]int{{2, 13, 9, 2}, {2, 13, 9, 2}}, fill: probability,
		build: func(x []*tensor.Tensor) *tensor.Tensor { return SSIMLoss(x[0], x[1]) },
		// variances are differences of close moments: the quotient magnifies f32 rounding, its gradient more so
		atol: 1e-4, rtol: 1e-4, fd: 1e-4,
	})
	t.Run("of a map with itself is 1", func(t *testing.T) {
		got := evaluate(t, func(g *tensor.Graph) *tensor.Tensor {
			a := make([]float32, 12*12)
			for i := range a {
				a[i] = float32(i%7) / 7
			}
			x := g.Constant("a", a, 1, 12, 12, 1)
			return SSIMLoss(x, g.Constant("b", a, 1, 12, 12, 1))
		})
		for _, v := range got {
			require.InDelta(t, 0, v, 1e-12)
		}
	})
}
