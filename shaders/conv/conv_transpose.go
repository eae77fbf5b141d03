package conv

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// ConvTranspose2x2Kind takes x, weight and bias (or nil).
var ConvTranspose2x2Kind = convolutionKind(tensor.Kind{Name: "ConvTranspose2x2", Images: 1, Halves: tensor.HalvesBegin}, convTransposeGeometry, func(op *tensor.Op) {
	x, weight, dy := op.Inputs[0], op.Inputs[1], op.Output().Gradient()
	height, width := x.Dim(1), x.Dim(2)
	p := Params{
		Batch: uint32(x.Dim(0)), Inputs: uint32(weight.Dim(3)), Outputs: uint32(weight.Dim(2)),
		Rows: forwardAxis(2*height, height, 2, 2, 0), Cols: forwardAxis(2*width, width, 2, 2, 0),
	}
	if x.NeedsGradient() {
		convolveX(p, dy, pointwise.Transposed(weight), x.Gradient())
	}
	if weight.NeedsGradient() { // that of the convolution of dy to x, transposed
		g := op.Graph()
		adjoint := g.NewOf(gpu.F32, "transposed "+weight.Gradient().String(), []int{2, 2, weight.Dim(3), weight.Dim(2)})
		g.Zero(adjoint)
		convolveWeight(conv2dBackwardWeight, dy, x, adjoint, p)
		pointwise.SumRows(pointwise.Transposed(adjoint), weight.Gradient())
	}
	biasGradient(op.Inputs[2], dy)
})

func convTransposeGeometry(op *tensor.Op) Params {
	return doublingGeometry(op.Inputs[0], op.Inputs[1]).withPhases(2, op.Inputs[2])
}

// ConvTranspose2x2 doubles x (B, H, W, Cin) to (B, 2H, 2W, Cout): y[2i+t, 2j+s] = x[i, j] weight[t,
// s] + bias, with weight (2, 2, Cin, Cout) and bias (Cout) or nil. One dispatch computes four
// convolutions of one tap, one for each (t, s). The gradient by x is a convolution of stride 2.
func ConvTranspose2x2(x, weight, bias *tensor.Tensor) *tensor.Tensor {
	kernels.RequireShape("ConvTranspose2x2", "x", x, -1, -1, -1, -1)
	kernels.RequireShape("ConvTranspose2x2", "weight", weight, 2, 2, x.Dim(3), -1)
	requireBias(weight, bias)
	return x.Graph().Apply(ConvTranspose2x2Kind, nil, []int{x.Dim(0), 2 * x.Dim(1), 2 * x.Dim(2), weight.Dim(3)}, x, weight, bias)
}

// doublingGeometry is the geometry of the tap (0, 0), the first phase.
func doublingGeometry(x, weight *tensor.Tensor) Params {
	return Params{
		Batch: uint32(x.Dim(0)), Inputs: uint32(x.Dim(3)), Outputs: uint32(weight.Dim(3)),
		Rows: doublingAxis(x.Dim(1)), Cols: doublingAxis(x.Dim(2)),
	}
}

// doublingAxis is an axis of the convolution of one tap, in the first phase. It writes every second
// pixel.
func doublingAxis(n int) conv2dAxis {
	return conv2dAxis{
		Count: int32(n), Taps: 1, XSize: int32(n), XStep: 1, XTap: 1, YSize: 2 * int32(n), YStep: 2, WSize: 2, WTap: 1,
	}
}
