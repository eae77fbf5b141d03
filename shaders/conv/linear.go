package conv

import (
	"slices"

	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// LinearKind takes x, weight and bias (or nil).
var LinearKind = convolutionKind(tensor.Kind{Name: "Linear", Images: 1, Halves: tensor.HalvesBegin}, linearForwardGeometry, func(op *tensor.Op) {
	x, weight, dy := op.Inputs[0], op.Inputs[1], op.Output().Gradient()
	pixels := x.Elements() / x.Dim(-1)
	if x.NeedsGradient() {
		convolveX(linearGeometry(pixels, weight.Dim(1), weight.Dim(0)), dy, pointwise.Transposed(weight), x.Gradient())
	}
	if weight.NeedsGradient() {
		convolveWeight(conv2dBackwardWeight, x, dy, weight.Gradient(), linearForwardGeometry(op))
	}
	biasGradient(op.Inputs[2], dy)
})

func linearForwardGeometry(op *tensor.Op) Params {
	x, weight := op.Inputs[0], op.Inputs[1]
	return linearGeometry(x.Elements()/x.Dim(-1), weight.Dim(0), weight.Dim(1)).withPhases(1, op.Inputs[2])
}

// Linear is x (…, Cin) times weight (Cin, Cout), plus bias (Cout) unless nil: (…, Cout). The
// kernels of convolutions compute it as a convolution of one row of pixels with one tap.
func Linear(x, weight, bias *tensor.Tensor) *tensor.Tensor {
	kernels.RequireShape("Linear", "weight", weight, x.Dim(-1), -1)
	requireBias(weight, bias)
	shape := append(slices.Clone(x.Shape()[:len(x.Shape())-1]), weight.Dim(1))
	return x.Graph().Apply(LinearKind, nil, shape, x, weight, bias)
}

// linearGeometry is a matrix product as a convolution of an image one pixel high.
func linearGeometry(pixels, inputs, outputs int) Params {
	return Params{
		Batch: 1, Inputs: uint32(inputs), Outputs: uint32(outputs),
		Rows: forwardAxis(1, 1, 1, 1, 0), Cols: forwardAxis(pixels, pixels, 1, 1, 0),
	}
}
