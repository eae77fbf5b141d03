package conv

import (
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// ConvTranspose2x2Kind takes x, weight and bias (or nil).
var ConvTranspose2x2Kind = convolutionKind(tensor.Kind{Name: "ConvTranspose2x2", Images: 1, Halves: tensor.HalvesBegin}, convTransposeGeometry, func(op *tensor.Op) {
	x, weight, dy := op.Inputs[0], op.Inputs[1], op.Output().Gradient()
	if x.NeedsGradient() {
		height, width := x.Dim(1), x.Dim(2)
		convolveX(Params{
			Batch: uint32(x.Dim(0)),
			Rows:  forwardAxis(2*height, height, 2, 2, 0), Cols: forwardAxis(2*width, width, 2, 2, 0),
		}, dy, pointwise.Transposed(weight), x.Gradient())
	}
	if weight.NeedsGradient() {
		var phases []Params
		for t := range int32(2) {
			for s := range int32(2) {
				phases = append(phases, doublingGeometry(x, weight, t, s))
			}
		}
		convolveWeight(conv2dBackwardWeight, x, dy, weight.Gradient(), phases...)
	}
	biasGradient(op.Inputs[2], dy)
})

func convTransposeGeometry(op *tensor.Op) Params {
	return doublingGeometry(op.Inputs[0], op.Inputs[1], 0, 0).withPhases(2, op.Inputs[2])
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

// doublingGeometry is the geometry of one tap (t, s).
func doublingGeometry(x, weight *tensor.Tensor, t, s int32) Params {
	return Params{
		Batch: uint32(x.Dim(0)), Inputs: uint32(x.Dim(3)), Outputs: uint32(weight.Dim(3)),
		Rows: doublingAxis(int32(x.Dim(1)), t), Cols: doublingAxis(int32(x.Dim(2)), s),
	}
}

// doublingAxis is an axis of the convolution of one tap, whose number is the phase. It writes every
// second pixel, from phase on.
func doublingAxis(n, phase int32) conv2dAxis {
	return conv2dAxis{
		Count: n, Taps: 1, XSize: n, XStep: 1, XTap: 1, YSize: 2 * n, YStep: 2, YStart: phase, WSize: 2, WStart: phase, WTap: 1,
	}
}
