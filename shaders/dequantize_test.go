package shaders

import (
	"context"
	"math/rand/v2"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	safetensors "mrprism/weights"

	"github.com/stretchr/testify/require"
)

// What weights.Quantize packs comes back as weights.Dequantize has it, to the bit: both multiply in float32.
func TestDequantize(t *testing.T) {
	for _, shape := range [][]int{{3, 3, 8, 20}, {7, 211}, {1, 1031}, {64, 65, 32}} {
		r := rand.New(rand.NewPCG(1, 2))
		n := 1
		for _, extent := range shape {
			n *= extent
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(r.NormFloat64())
		}
		quantized, err := safetensors.Quantize(&safetensors.File{Tensors: []safetensors.Tensor{safetensors.NewF32("a.weight", shape, values)}})
		require.NoError(t, err)
		require.Len(t, quantized.Tensors, 2)
		scales, err := quantized.Scales("a.weight")
		require.NoError(t, err)
		plain, err := safetensors.Dequantize(quantized)
		require.NoError(t, err)
		want, err := plain.Tensor("a.weight").Float32()
		require.NoError(t, err)
		asKinds(t, func(device string, d gpu.Device) {
			ctx := context.Background()
			g := tensor.NewGraph()
			q, scale := g.InputOf(gpu.I8, "q", shape...), g.Input("scale", len(scales))
			y := Dequantize(q, scale).Keep()
			plan, err := tensor.Compile(ctx, d, tensor.NewSet(), g)
			require.NoError(t, err)
			defer plan.Release()
			require.NoError(t, plan.WriteBytes(q, quantized.Tensor("a.weight").Data))
			require.NoError(t, plan.Write(scale, scales))
			require.NoError(t, plan.Run(ctx))
			got, err := plan.Read(ctx, y)
			require.NoError(t, err)
			require.Equal(t, want, got[0], device)
		})
	}
}

func TestDequantizeRefuses(t *testing.T) {
	g := tensor.NewGraph()
	require.Panics(t, func() { Dequantize(g.Input("floats", 2, 4), g.Input("scale", 4)) })
	require.Panics(t, func() { Dequantize(g.InputOf(gpu.I8, "q", 2, 4), g.Input("scale", 2)) })
}
