package shaders

import (
	"testing"

	"mrprism/internal/compute/gpu"

	"github.com/stretchr/testify/require"
)

// The kind of device decides which variant runs, and what a kernel can do.
func TestConvolutionVariants(t *testing.T) {
	outputs := func(n uint32) any { return &conv2dParams{Outputs: n} }
	int8Outputs := func(n uint32) any { return &conv2dInt8Params{conv2dParams: conv2dParams{Outputs: n}} }
	square := func(side int32, inputs, outputs uint32) conv2dParams { // 3×3
		axis := forwardAxis(int(side), int(side), 3, 1, 1)
		return conv2dParams{Batch: 1, Inputs: inputs, Outputs: outputs, Parts: 1, Rows: axis, Cols: axis}
	}
	convolution := func(side int32, inputs, outputs uint32) any {
		p := square(side, inputs, outputs)
		return &p
	}
	int8Convolution := func(side int32, inputs, outputs uint32) any {
		return &conv2dInt8Params{conv2dParams: square(side, inputs, outputs)}
	}
	checkChoices(t, []choice{
		{conv2dForward, outputs(4), [3]string{"registers", "registers", ""}},
		{conv2dForward, outputs(16), [3]string{"registers", "registers", ""}},
		{conv2dForward, outputs(18), [3]string{"", "", ""}},
		{conv2dForward, outputs(20), [3]string{"registers", "registers", "tiles"}},
		{conv2dForward, outputs(32), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, outputs(33), [3]string{"", "", ""}},
		{conv2dForward, convolution(4, 256, 256), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(8, 256, 512), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(16, 256, 256), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(64, 64, 64), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(4, 4, 64), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(16, 3, 32), [3]string{"subgroups", "registers", "registers"}},
		{conv2dForward, convolution(4, 256, 2), [3]string{"", "", ""}},
		{conv2dInt8, int8Convolution(4, 256, 256), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Convolution(8, 256, 512), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Convolution(16, 32, 64), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Convolution(16, 16, 64), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Outputs(4), [3]string{"", "", "tiles"}},
		{conv2dInt8, int8Outputs(32), [3]string{"subgroups", "", "tiles"}},
		{conv2dBackwardWeight, outputs(5), [3]string{"", "", ""}},
		{conv2dBackwardWeight, outputs(24), [3]string{"registers", "registers", "tiles"}},
		{conv2dBackwardWeight, outputs(64), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dBackwardWeight, convolution(16, 3, 32), [3]string{"subgroups", "registers", "registers"}},
		{depthwiseForward, convolution(16, 8, 8), [3]string{"", "", "tiles"}},
		{depthwiseBackwardX, convolution(16, 7, 7), [3]string{"", "", ""}},
		{depthwiseBackwardWeight, convolution(16, 8, 8), [3]string{"", "", "tiles"}},
	})
}

// With storage of halves the tiles of GPUs hold and multiply halves; a processor that emulates a GPU would only convert them to and fro.
func TestTilesMultiplyHalves(t *testing.T) {
	source := func(kind gpu.Kind, floats gpu.ElementType) string {
		p, _ := conv2dForward.Program(gpu.Info{Kind: kind}, floats, &conv2dParams{Outputs: 64})
		return p.Source
	}
	require.Contains(t, source(gpu.KindDiscrete, gpu.F16), "\nconst HALF: bool = true;")
	require.Contains(t, source(gpu.KindDiscrete, gpu.F16), "array<real4, PADDED>")
	require.Contains(t, source(gpu.KindDiscrete, gpu.F32), "\nconst HALF: bool = false;")
	require.NotContains(t, source(gpu.KindCPU, gpu.F16), "if (HALF)")
}
