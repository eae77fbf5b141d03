package pointwise_test

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	safetensors "mrprism/weights"

	"github.com/stretchr/testify/require"
)

// What weights.Quantize packs comes back as weights.Dequantize has it, to the bit: both multiply in
// float32. As halves it is rounded once.
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
		shadertest.EachKind(t, func(device string, d gpu.Device) {
			run := func(floats gpu.ElementType) []float32 {
				g, set := tensor.NewGraphOf(floats), tensor.NewSet()
				require.NoError(t, set.Store(floats))
				q, scale := g.InputOf(gpu.I8, "q", shape...), g.InputOf(gpu.F32, "scale", len(scales))
				y := pointwise.Dequantize(q, scale).Keep()
				plan, err := shaders.Compile(t.Context(), d, set, g)
				require.NoError(t, err)
				defer plan.Release()
				require.NoError(t, plan.WriteBytes(q, quantized.Tensor("a.weight").Data))
				require.NoError(t, plan.Write(scale, scales))
				require.NoError(t, plan.Run(t.Context()))
				got, err := plan.Read(t.Context(), y)
				require.NoError(t, err)
				return got[0]
			}
			require.Equal(t, want, run(gpu.F32), device)
			if shadertest.CanStore(d, gpu.F16) {
				test := shadertest.Operator{RTol: shadertest.Rounded}
				test.Compare(t, device, "halves", run(gpu.F16), want)
			}
		})
	}
}

func TestDequantizeRefuses(t *testing.T) {
	g := tensor.NewGraph()
	require.Panics(t, func() { pointwise.Dequantize(g.Input("floats", 2, 4), g.Input("scale", 4)) })
	require.Panics(t, func() { pointwise.Dequantize(g.InputOf(gpu.I8, "q", 2, 4), g.Input("scale", 2)) })
}
