package shaders

// Linear is x (…, Cin) times weight (Cin, Cout), plus bias (Cout) unless nil: (…, Cout). It is a convolution of one row of
// pixels with one tap, and uses its kernels.
func Linear(x, weight, bias *Tensor) *Tensor {
	inputs, outputs := x.Dim(-1), weight.Dim(-1)
	requireShape("Linear", "weight", weight, inputs, outputs)
	pixels := x.Elements() / inputs
	shape := append(append([]int(nil), x.Shape()[:len(x.Shape())-1]...), outputs)
	y := x.Graph().New("linear", shape, biased(x, weight, bias)...)
	forward := linearGeometry(pixels, inputs, outputs)
	convolve(forward, 1, x, weight, bias, y)
	x.Graph().OnBackward(y, func() {
		dy := y.Gradient()
		if x.NeedsGradient() {
			convolveX(linearGeometry(pixels, outputs, inputs), dy, transposed(weight), x.Gradient())
		}
		if weight.NeedsGradient() {
			convolveWeight(conv2dBackwardWeight, x, dy, weight.Gradient(), forward)
		}
		biasGradient(bias, dy)
	})
	return y
}

// linearGeometry is a matrix product as a convolution of an image one pixel high.
func linearGeometry(pixels, inputs, outputs int) conv2dParams {
	return conv2dParams{
		Batch: 1, Inputs: uint32(inputs), Outputs: uint32(outputs),
		Rows: forwardAxis(1, 1, 1, 1, 0), Cols: forwardAxis(pixels, pixels, 1, 1, 0),
	}
}
