package loss_test

import (
	"testing"

	"mrprism/shaders/loss"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestSSIM(t *testing.T) {
	shadertest.Check(t, shadertest.Operator{
		Inputs: [][]int{{2, 13, 9, 2}, {2, 13, 9, 2}}, Fill: shadertest.Probability,
		Build: func(x []*tensor.Tensor) *tensor.Tensor { return loss.SSIM(x[0], x[1]) },
		// variances are differences of close moments: the quotient magnifies f32 rounding, its gradient
		// more so
		ATol: 1e-4, RTol: 1e-4, FD: 1e-4,
	})
	t.Run("of a map with itself is 1", func(t *testing.T) {
		got := shadertest.Evaluate(t, func(g *tensor.Graph) *tensor.Tensor {
			a := make([]float32, 12*12)
			for i := range a {
				a[i] = float32(i%7) / 7
			}
			x := g.Constant("a", a, 1, 12, 12, 1)
			return loss.SSIM(x, g.Constant("b", a, 1, 12, 12, 1))
		})
		for _, v := range got {
			require.InDelta(t, 0, v, 1e-12)
		}
	})
}
