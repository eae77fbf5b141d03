package pointwise_test

import (
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In f32 and at inference there is nothing to widen; in training the result is what was stored, and
// the gradient is rounded.
func TestWiden(t *testing.T) {
	for _, shape := range [][]int{{1}, {3, 5, 7}, {2, 8, 8, 16}} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{shape},
			Build: func(x []*tensor.Tensor) *tensor.Tensor {
				return pointwise.Add(pointwise.Scale(pointwise.Widen(x[0]), -1.5), pointwise.Widen(pointwise.Scale(x[0], 2)))
			},
			Half: 1e-6, Mixed: 2 * shadertest.Rounded, // two gradients are rounded
		})
	}
}

// A parameter is rounded once however often it is used, also in what is computed again for the
// gradient; its gradient is summed up in f32, where steps of 2^-11 below 1 would be lost in f16.
func TestHalvedParameter(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if !shadertest.CanStore(d, gpu.F16) {
			t.Skipf("%s has no f16", d.Info())
		}
		g, set := tensor.NewGraph(), tensor.NewSet()
		defer set.Release()
		v := set.Variable(tensor.Parameter, "p", 1)
		p := g.Variable(v)
		x := g.InputOf(gpu.F16, "x", 1, 1)
		y := conv.Linear(x, p.Reshape(1, 1), nil)
		for range 2 {
			y = pointwise.Add(y, g.Part(true, func() *tensor.Tensor { return conv.Linear(x, p.Reshape(1, 1), nil) }))
		}
		total := pointwise.Sum(pointwise.Widen(y)).Keep()
		shaders.StoreHalves(g)
		g.Backward(total, g.Constant("seed", []float32{1}, 1))
		pointwise.Accumulate(p, p.Gradient()) // so that it has to be rounded in every run
		plan, err := shaders.Compile(t.Context(), d, set, g)
		require.NoError(t, err)
		defer plan.Release()
		commands := plan.Commands().Commands
		roundings := 0
		for _, c := range commands {
			if c.Program != nil && c.Program.Entry == "narrow" {
				roundings++
			}
		}
		assert.Equal(t, 1, roundings)
		require.NoError(t, set.Write(v, []float32{-1.0001}))
		require.NoError(t, plan.Write(x, []float32{1 + 1.0/(1<<10)}))
		require.NoError(t, plan.Run(t.Context()))
		values, err := plan.Read(t.Context(), total)
		require.NoError(t, err)
		assert.InDelta(t, -3, values[0][0], 0.01)
		updated, err := set.Read(t.Context(), v)
		require.NoError(t, err)
		assert.InDelta(t, 3+3.0/(1<<10)-1.0001, updated[0][0], 1e-6) // neither gradient nor parameter is rounded: f16 has steps of 2^-9 there
	})
}
