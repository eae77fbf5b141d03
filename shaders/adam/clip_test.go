package adam_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

func TestSquareSum(t *testing.T) {
	for _, n := range []int{1, 2, 63, 65, 1000, 100_003} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{{n}},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return adam.SquareSum(x[0]) },
			Fixed:  map[int]bool{0: true},
			Rough:  true,
		})
	}
}

func TestClipSchedule(t *testing.T) {
	for _, limit := range []float32{0.1, 1, 100} {
		shadertest.Check(t, shadertest.Operator{
			Inputs: [][]int{{5}, {1}},
			Build:  func(x []*tensor.Tensor) *tensor.Tensor { return adam.Clip(x[0], x[1], limit) },
			Fill:   func(_, _ int, r *rand.Rand) float64 { return 0.1 + r.Float64() },
			Fixed:  map[int]bool{0: true, 1: true},
			Rough:  true,
		})
	}
}

// The clipped gradient has the norm that is the limit, or its own.
func TestClippedNorm(t *testing.T) {
	for limit, want := range map[float32]float32{1: 0.5 * 0.2, 5: 0.5, 100: 0.5} {
		g, set := tensor.NewGraph(), tensor.NewSet()
		x, schedule := g.Input("x", 2), g.Input("schedule", 5)
		clipped := adam.Clip(schedule, adam.SquareSum(x), limit).Keep()
		d := reference.Open()
		p, err := shaders.Compile(t.Context(), d, set, g)
		require.NoError(t, err)
		require.NoError(t, p.Write(x, []float32{6, 8}))
		require.NoError(t, p.Write(schedule, []float32{7, 8, 9, 0.5, 6}))
		require.NoError(t, p.Run(t.Context()))
		values, err := p.Read(t.Context(), clipped)
		require.NoError(t, err)
		require.InDeltaSlice(t, []float32{7, 8, 9, want, 6}, values[0], 1e-6)
		p.Release()
	}
}

// Gradients that are not finite stop the update: the factor is 0, and then Adam changes nothing, on
// every device.
func TestNoUpdateByWhatIsNotFinite(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		g, set := tensor.NewGraph(), tensor.NewSet()
		gradient, schedule := g.Input("gradient", 3), g.Input("schedule", 5)
		var state []*tensor.Tensor
		for range 4 {
			state = append(state, g.Input("state", 3).Keep())
		}
		guarded := adam.Clip(schedule, adam.SquareSum(gradient), 0)
		adam.Step(state[0], gradient, state[1], state[2], state[3], guarded, adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 0.1})
		p, err := shaders.Compile(t.Context(), d, set, g)
		require.NoError(t, err)
		defer p.Release()
		for _, s := range state {
			require.NoError(t, p.Write(s, []float32{1, 2, 3}))
		}
		require.NoError(t, p.Write(schedule, []float32{0.1, 1, 1, 0.5, 0.9}))
		for _, bad := range []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())} {
			require.NoError(t, p.Write(gradient, []float32{1, bad, 1}))
			require.NoError(t, p.Run(t.Context()))
			values, err := p.Read(t.Context(), state...)
			require.NoError(t, err)
			for _, v := range values {
				require.Equal(t, []float32{1, 2, 3}, v, "%g", bad)
			}
		}
		require.NoError(t, p.Write(gradient, []float32{1, 1, 1}))
		require.NoError(t, p.Run(t.Context()))
		values, err := p.Read(t.Context(), state...)
		require.NoError(t, err)
		for _, v := range values {
			require.NotEqual(t, []float32{1, 2, 3}, v)
		}
	})
}
