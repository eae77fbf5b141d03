package shaders

// ConvTranspose2x2 doubles x (B, H, W, Cin) to (B, 2H, 2W, Cout): y[2i+t, 2j+s] = x[i, j] weight[t, s] + bias, with weight
// (2, 2, Cin, Cout) and bias (Cout) or nil. Four convolutions of one tap, one for each (t, s), in one dispatch; backwards one of stride 2.
func ConvTranspose2x2(x, weight, bias *Tensor) *Tensor {
	requireShape("ConvTranspose2x2", "x", x, -1, -1, -1, -1)
	requireShape("ConvTranspose2x2", "weight", weight, 2, 2, x.Dim(3), -1)
	g := x.Graph()
	batch, height, width := x.Dim(0), x.Dim(1), x.Dim(2)
	y := g.New("conv_transpose", []int{batch, 2 * height, 2 * width, weight.Dim(3)}, biased(x, weight, bias)...)
	var phases []conv2dParams
	for t := range int32(2) {
		for s := range int32(2) {
			phases = append(phases, doublingGeometry(x, weight, t, s))
		}
	}
	convolve(phases[0], 2, x, weight, bias, y)
	g.OnBackward(y, func() {
		dy := y.Gradient()
		if x.NeedsGradient() {
			convolveX(conv2dParams{
				Batch: uint32(batch),
				Rows:  forwardAxis(2*height, height, 2, 2, 0), Cols: forwardAxis(2*width, width, 2, 2, 0),
			}, dy, transposed(weight), x.Gradient())
		}
		if weight.NeedsGradient() {
			convolveWeight(conv2dBackwardWeight, x, dy, weight.Gradient(), phases...)
		}
		biasGradient(bias, dy)
	})
	return y
}

// doublingGeometry is that of one tap (t, s).
func doublingGeometry(x, weight *Tensor, t, s int32) conv2dParams {
	return conv2dParams{
		Batch: uint32(x.Dim(0)), Inputs: uint32(x.Dim(3)), Outputs: uint32(weight.Dim(3)),
		Rows: doublingAxis(int32(x.Dim(1)), t), Cols: doublingAxis(int32(x.Dim(2)), s),
	}
}

// doublingAxis is the axis of a transposed convolution that writes every second pixel, from phase on, with that one tap.
func doublingAxis(n, phase int32) conv2dAxis {
	return conv2dAxis{
		Count: n, Taps: 1, XSize: n, XStep: 1, XTap: 1, YSize: 2 * n, YStep: 2, YStart: phase, WSize: 2, WStart: phase, WTap: 1,
	}
}
