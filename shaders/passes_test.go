package shaders_test

import (
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Passes have the same results and gradients joined as apart: if one needs what another makes, if
// the gradient of one goes through another, and if parts cannot lie side by side.
func TestPassesJoined(t *testing.T) {
	for name, test := range map[string]struct {
		rows int
		feed func(y *tensor.Tensor) *tensor.Tensor
	}{
		"apart":   {rows: 64, feed: (*tensor.Tensor).Detach},
		"unequal": {rows: 3, feed: (*tensor.Tensor).Detach},
		"through": {rows: 64, feed: func(y *tensor.Tensor) *tensor.Tensor { return y }},
		"separate": {rows: 64, feed: func(y *tensor.Tensor) *tensor.Tensor {
			return y.Graph().Constant("x2", make([]float32, y.Elements()), y.Shape()...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, d gpu.Device) {
				run := func(join bool) (values [][]float32, dispatches int) {
					set, g := tensor.NewSet(), tensor.NewGraph()
					defer set.Release()
					weight, bias := g.Variable(set.Variable(tensor.Parameter, "weight", 5, 5)), g.Variable(set.Variable(tensor.Parameter, "bias", 5))
					x, shared := g.Input("x", test.rows, 5), pointwise.Scale(bias.Reshape(1, 5), 2)
					loss, from := (*tensor.Tensor)(nil), x
					var results []*tensor.Tensor
					for pass := range 3 {
						g.Pass(pass + 1)
						y := pointwise.GELU(pointwise.Add(conv.Linear(from, weight, bias), pointwise.AddBroadcast(conv.Linear(x, weight, nil), shared)))
						term := pointwise.Sum(y)
						g.Pass(0)
						if loss == nil {
							loss = term
						} else {
							loss = pointwise.Add(loss, pointwise.Scale(term, float32(pass+1)))
						}
						from = test.feed(y)
						results = append(results, y)
					}
					shaders.Simplify(g)
					if join {
						shaders.JoinPasses(loss)
					}
					g.Backward(loss.Keep(), g.Constant("seed", []float32{1}, 1))
					kept := append(results, loss, weight.Gradient(), bias.Gradient())
					for _, y := range kept {
						y.Keep()
					}
					plan, err := shaders.Compile(t.Context(), d, set, g)
					require.NoError(t, err)
					defer plan.Release()
					require.NoError(t, set.Initialise(1))
					input := make([]float32, x.Elements())
					for i := range input {
						input[i] = float32(i%7)/4 - 0.6
					}
					require.NoError(t, plan.Write(x, input))
					require.NoError(t, plan.Run(t.Context()))
					values, err = plan.Read(t.Context(), kept...)
					require.NoError(t, err)
					return values, plan.Dispatches()
				}
				want, apart := run(false)
				got, joined := run(true)
				for i := range want {
					require.InDeltaSlice(t, want[i], got[i], 1e-4, "%d", i)
				}
				switch name {
				case "through":
					require.Equal(t, apart, joined)
				case "apart", "separate":
					require.Less(t, joined, apart)
				}
			})
		})
	}
}
