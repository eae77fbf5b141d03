package pointwise_test

import (
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Activations beyond 127 steps, ties, and weights with an output of zeros.
func TestQuantize(t *testing.T) {
	shadertest.EachKind(t, func(device string, d gpu.Device) {
		g := tensor.NewGraph()
		x, one := g.Input("x", 3, 4), g.Input("step", 4)
		y := pointwise.Dequantize(pointwise.Quantize(x, 0.5).Q, one).Keep()
		plan, err := shaders.Compile(t.Context(), d, tensor.NewSet(), g)
		require.NoError(t, err)
		defer plan.Release()
		require.NoError(t, plan.Write(x, []float32{0.25, 0.75, -0.25, -0.75, 63.5, 64, 1e30, -1e30, 0.3, -0.2, 0, 10.1}))
		require.NoError(t, plan.Write(one, []float32{1, 1, 1, 1}))
		require.NoError(t, plan.Run(t.Context()))
		got, err := plan.Read(t.Context(), y)
		require.NoError(t, err)
		require.Equal(t, []float32{0, 2, 0, -2, 127, 127, 127, -127, 1, 0, 0, 20}, got[0], device)
	})
}

// Weights: multiples of their scale come back as whole numbers, whatever the scale; zeros have the
// scale 1.
func TestQuantizeOutputs(t *testing.T) {
	shadertest.EachKind(t, func(device string, d gpu.Device) {
		g := tensor.NewGraph()
		w := g.Input("w", 8, 4)
		q, scale := pointwise.QuantizeOutputs(w)
		ones := g.Input("ones", 4)
		whole := pointwise.Dequantize(q, ones).Keep()
		scale.Keep()
		plan, err := shaders.Compile(t.Context(), d, tensor.NewSet(), g)
		require.NoError(t, err)
		defer plan.Release()
		steps := []float32{0.0123, 3.7e-5, 1, 0.77}
		values, want := make([]float32, 32), make([]float32, 32)
		for k := range 8 {
			for o := range 4 {
				n := float32((k*37+o*11)%255 - 127)
				if k == 3 {
					n = 127
				}
				if o == 2 {
					n = 0
				}
				values[k*4+o] = n * steps[o]
				want[(k/4*4+o)*4+k%4] = n
			}
		}
		require.NoError(t, plan.Write(w, values))
		require.NoError(t, plan.Write(ones, []float32{1, 1, 1, 1}))
		require.NoError(t, plan.Run(t.Context()))
		got, err := plan.Read(t.Context(), whole, scale)
		require.NoError(t, err)
		require.Equal(t, want, got[0], device)
		require.InDeltaSlice(t, steps, got[1], 1e-6, device) // a division by 127
	})
}
