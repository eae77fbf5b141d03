package conv

import (
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels/kerneltest"

	"github.com/stretchr/testify/require"
)

// The kind of device and what a kernel can do decide which variant runs.
func TestConvolutionVariants(t *testing.T) {
	outputs := func(n uint32) any { return &Params{Outputs: n} }
	int8Outputs := func(n uint32) any { return &Int8Params{Params: Params{Outputs: n}} }
	square := func(side int32, inputs, outputs uint32) Params { // 3×3
		axis := forwardAxis(int(side), int(side), 3, 1, 1)
		return Params{Batch: 1, Inputs: inputs, Outputs: outputs, Parts: 1, Rows: axis, Cols: axis}
	}
	convolution := func(side int32, inputs, outputs uint32) any {
		p := square(side, inputs, outputs)
		return &p
	}
	int8Convolution := func(side int32, inputs, outputs uint32) any {
		return &Int8Params{Params: square(side, inputs, outputs)}
	}
	kerneltest.Check(t, []kerneltest.Choice{
		{Kernel: conv2dForward, Params: outputs(4), Want: [3]string{"registers", "registers", ""}},
		{Kernel: conv2dForward, Params: outputs(16), Want: [3]string{"registers", "registers", ""}},
		{Kernel: conv2dForward, Params: outputs(18), Want: [3]string{"", "", ""}},
		{Kernel: conv2dForward, Params: outputs(20), Want: [3]string{"registers", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: outputs(32), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: outputs(33), Want: [3]string{"", "", ""}},
		{Kernel: conv2dForward, Params: convolution(4, 256, 256), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: convolution(8, 256, 512), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: convolution(16, 256, 256), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: convolution(64, 64, 64), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: convolution(4, 4, 64), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dForward, Params: convolution(16, 3, 32), Want: [3]string{"subgroups", "registers", "registers"}},
		{Kernel: conv2dForward, Params: convolution(4, 256, 2), Want: [3]string{"", "", ""}},
		{Kernel: conv2dInt8, Params: int8Convolution(4, 256, 256), Want: [3]string{"subgroups", "", "tiles"}},
		{Kernel: conv2dInt8, Params: int8Convolution(8, 256, 512), Want: [3]string{"subgroups", "", "tiles"}},
		{Kernel: conv2dInt8, Params: int8Convolution(16, 32, 64), Want: [3]string{"subgroups", "", "tiles"}},
		{Kernel: conv2dInt8, Params: int8Convolution(16, 16, 64), Want: [3]string{"subgroups", "", "tiles"}},
		{Kernel: conv2dInt8, Params: int8Outputs(4), Want: [3]string{"", "", "tiles"}},
		{Kernel: conv2dInt8, Params: int8Outputs(32), Want: [3]string{"subgroups", "", "tiles"}},
		{Kernel: conv2dBackwardWeight, Params: outputs(5), Want: [3]string{"", "", ""}},
		{Kernel: conv2dBackwardWeight, Params: outputs(24), Want: [3]string{"registers", "registers", "tiles"}},
		{Kernel: conv2dBackwardWeight, Params: outputs(64), Want: [3]string{"subgroups", "registers", "tiles"}},
		{Kernel: conv2dBackwardWeight, Params: convolution(16, 3, 32), Want: [3]string{"subgroups", "registers", "registers"}},
		{Kernel: depthwiseForward, Params: convolution(16, 8, 8), Want: [3]string{"", "", "tiles"}},
		{Kernel: depthwiseBackwardX, Params: convolution(16, 7, 7), Want: [3]string{"", "", ""}},
		{Kernel: depthwiseBackwardWeight, Params: convolution(16, 8, 8), Want: [3]string{"", "", "tiles"}},
	})
}

// With storage of halves the tiles of GPUs hold and multiply halves. The kernels for a processor
// that emulates a GPU do not: it would convert them to and fro.
func TestTilesMultiplyHalves(t *testing.T) {
	source := func(kind gpu.Kind, floats gpu.ElementType) string {
		p, _ := conv2dForward.Program(gpu.Info{Kind: kind}, floats, &Params{Outputs: 64})
		return p.Source
	}
	require.Contains(t, source(gpu.KindDiscrete, gpu.F16), "\nconst HALF: bool = true;")
	require.Contains(t, source(gpu.KindDiscrete, gpu.F16), "array<real4, PADDED>")
	require.Contains(t, source(gpu.KindDiscrete, gpu.F32), "\nconst HALF: bool = false;")
	require.NotContains(t, source(gpu.KindCPU, gpu.F16), "if (HALF)")
}
