package shaders_test

import (
	"slices"

	"mrprism/shaders/conv"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
	"mrprism/weights/format/onnx"
	"mrprism/weights/format/onnx/onnxtest"
)

// Convolutions, poolings, normalisations and matrix products of ONNX (N, C, H, W) as ours (B, H, W,
// C).

// kernelShape is the extents of a convolution's kernel.
func kernelShape(c *onnxtest.Case, weight *onnx.Tensor) []int {
	kernel := list(c, "kernel_shape", weight.Dims[2:]...)
	if len(kernel) < 1 || len(kernel) > 2 {
		unsupported("%d axes beside batch and channel", len(kernel))
	}
	return kernel
}

func onnxConv(g *onnxGraph, c *onnxtest.Case) {
	x, weight := input(c, 0), input(c, 1)
	values, shape := channelsLast(x)
	win, kh, kw := onnxWindow(c, shape[1], shape[2], kernelShape(c, weight))
	channels, outputs, group := shape[3], weight.Dims[0], integer(c, "group", 1)
	var bias *tensor.Tensor
	if b := optional(c, 2); b != nil {
		bias = g.feed(floats(b), outputs)
	}
	want, expected := channelsLast(c.Outputs[0])
	image := g.feed(values, shape...)
	last := sequence(2, len(weight.Dims)) // axes of the kernel
	switch {
	case group == 1:
		w, _ := permuted(weight, append(last, 1, 0)...)
		g.expect(conv.Conv2D(image, g.feed(w, kh, kw, channels, outputs), bias, win), want, expected...)
	case group == channels && group == outputs:
		w, _ := permuted(weight, append(last, 0, 1)...)
		g.expect(conv.DepthwiseConv2D(image, g.feed(w, kh, kw, channels), bias, win), want, expected...)
	default:
		unsupported("groups of several channels")
	}
}

// onnxConvTranspose is ConvTranspose2x2, or the gradient of a convolution by its input, which is
// the same sum.
func onnxConvTranspose(g *onnxGraph, c *onnxtest.Case) {
	x, weight := input(c, 0), input(c, 1)
	if integer(c, "group", 1) != 1 || len(x.Dims) != 4 || slices.Max(list(c, "dilations", 1)) > 1 {
		unsupported("groups, dilation, or other than two axes")
	}
	kernel, strides := kernelShape(c, weight), list(c, "strides", 1, 1)
	values, shape := channelsLast(x)
	want, expected := channelsLast(c.Outputs[0])
	pads, same := slices.Clone(list(c, "pads", 0, 0, 0, 0)), c.Node.Attributes["auto_pad"].String
	win := conv.Window{StrideY: strides[0], StrideX: strides[1]}
	for i, side := range []struct{ before, after *int }{{&win.Top, &win.Bottom}, {&win.Left, &win.Right}} {
		in, out := shape[1+i], expected[1+i]
		if list(c, "output_shape") != nil || same == "SAME_UPPER" || same == "SAME_LOWER" {
			total := max(0, (in-1)*strides[i]+kernel[i]+list(c, "output_padding", 0, 0)[i]-out)
			pads[i] = total - total/2
			if same == "SAME_UPPER" {
				pads[i] = total / 2
			}
		}
		*side.before = pads[i]
		*side.after = max(0, (in-1)*strides[i]+kernel[i]-out-pads[i])
	}
	var y *tensor.Tensor
	inputs, outputs := weight.Dims[0], weight.Dims[1]
	if win == conv.Square(2, 0) && slices.Equal(kernel, []int{2, 2}) {
		w, _ := permuted(weight, 2, 3, 0, 1)
		y = conv.ConvTranspose2x2(g.feed(values, shape...), g.feed(w, 2, 2, inputs, outputs), nil)
	} else {
		w, _ := permuted(weight, 2, 3, 1, 0)
		image := g.feed(make([]float32, product(expected)), expected...).Track()
		convolved := conv.Conv2D(image, g.feed(w, kernel[0], kernel[1], outputs, inputs), nil, win)
		g.Backward(convolved, g.feed(values, shape...))
		y = image.Gradient()
	}
	if b := optional(c, 2); b != nil {
		pixels := y.Elements() / outputs
		y = pointwise.AddBroadcast(y.Reshape(pixels, outputs), g.feed(floats(b), outputs)).Reshape(expected...)
	}
	g.expect(y, want, expected...)
}

func onnxAveragePool(g *onnxGraph, c *onnxtest.Case) {
	values, shape := channelsLast(input(c, 0))
	win, kh, kw := onnxWindow(c, shape[1], shape[2], list(c, "kernel_shape"))
	want, expected := channelsLast(c.Outputs[0])
	x := g.feed(values, shape...)
	if integer(c, "count_include_pad", 0) == 0 || win == (conv.Window{StrideY: win.StrideY, StrideX: win.StrideX}) {
		g.expect(pool.Average(x, kh, kw, win), want, expected...)
		return
	}
	if integer(c, "ceil_mode", 0) == 1 {
		unsupported("counted padding and ceil_mode")
	}
	weight := repeated(1/float32(kh*kw), kh*kw*shape[3]) // zeros count: a convolution with equal weights
	g.expect(conv.DepthwiseConv2D(x, g.feed(weight, kh, kw, shape[3]), nil, win), want, expected...)
}

func onnxMaxPool(g *onnxGraph, c *onnxtest.Case) {
	if len(c.Outputs) > 1 {
		unsupported("places of the maxima as a result")
	}
	values, shape := channelsLast(input(c, 0))
	win, kh, kw := onnxWindow(c, shape[1], shape[2], list(c, "kernel_shape"))
	want, expected := channelsLast(c.Outputs[0])
	g.expect(pool.Max(g.feed(values, shape...), kh, kw, win), want, expected...)
}

func onnxGlobalPool(g *onnxGraph, c *onnxtest.Case) {
	values, shape := channelsLast(input(c, 0))
	want, expected := channelsLast(c.Outputs[0])
	pooling := pool.Average
	if c.Node.Operator == "GlobalMaxPool" {
		pooling = pool.Max
	}
	g.expect(pooling(g.feed(values, shape...), shape[1], shape[2], conv.Square(1, 0)), want, expected...)
}

// onnxBatchNorm compares the running variance too: ONNX's moves towards the batch's variance, ours,
// as PyTorch's, towards the unbiased one.
func onnxBatchNorm(g *onnxGraph, c *onnxtest.Case) {
	x := input(c, 0)
	if integer(c, "spatial", 1) == 0 || len(x.Dims) < 2 {
		unsupported("statistics of every pixel")
	}
	channels := x.Dims[1]
	values, shape := axisLast(x, 1)
	want, _ := axisLast(c.Outputs[0], 1)
	of := func(i int) *tensor.Tensor { return g.feed(floats(input(c, i)), channels) }
	training := integer(c, "training_mode", 0) == 1
	if !training && len(c.Outputs) > 1 {
		unsupported("training of before opset 14")
	}
	mean, variance := of(3), of(4)
	momentum := 1 - number(c, "momentum", 0.9)
	y := norm.BatchNorm(g.feed(values, shape...), of(1), of(2), mean, variance, training, number(c, "epsilon", 1e-5), momentum)
	g.expect(y, want, shape...)
	if training && len(c.Outputs) == 3 {
		g.expect(mean, floats(c.Outputs[1]), channels)
		n := float32(len(values) / channels)
		unbiased := floats(c.Outputs[2])
		for i, before := range floats(input(c, 4)) {
			before *= 1 - momentum
			unbiased[i] = before + (unbiased[i]-before)*n/(n-1)
		}
		g.expect(variance, unbiased, channels)
	}
}

// onnxInstanceNorm is batch normalisation with the channels of every image apart.
func onnxInstanceNorm(g *onnxGraph, c *onnxtest.Case) {
	x := input(c, 0)
	last := append(sequence(2, len(x.Dims)), 0, 1)
	values, _ := permuted(x, last...)
	want, _ := permuted(c.Outputs[0], last...)
	images, channels := x.Dims[0], x.Dims[0]*x.Dims[1]
	pixels := len(values) / channels
	of := func(i int) *tensor.Tensor { return g.feed(slices.Repeat(floats(input(c, i)), images), channels) }
	zeros := func() *tensor.Tensor { return g.feed(make([]float32, channels), channels) }
	y := norm.BatchNorm(g.feed(values, 1, pixels, 1, channels), of(1), of(2), zeros(), zeros(), true, number(c, "epsilon", 1e-5), 0)
	g.expect(y, want, 1, pixels, 1, channels)
}

// onnxLayerNorm compares the result; mean and deviation stay inside ours.
func onnxLayerNorm(g *onnxGraph, c *onnxtest.Case) {
	x, scale := input(c, 0), input(c, 1)
	axis := wrap(integer(c, "axis", -1), len(x.Dims))
	channels := product(x.Dims[axis:])
	rows := len(x.Values) / channels
	if len(scale.Values) != channels {
		unsupported("broadcasting")
	}
	bias := make([]float32, channels)
	if b := optional(c, 2); b != nil {
		bias = floats(b)
	}
	y := norm.LayerNorm(g.feed(floats(x), rows, channels), g.feed(floats(scale), channels), g.feed(bias, channels), number(c, "epsilon", 1e-5))
	g.expect(y, floats(c.Outputs[0]), rows, channels)
}

// onnxImageScaler is a depthwise convolution of one tap.
func onnxImageScaler(g *onnxGraph, c *onnxtest.Case) {
	values, shape := channelsLast(input(c, 0))
	want, expected := channelsLast(c.Outputs[0])
	channels := shape[3]
	weight := g.feed(repeated(number(c, "scale", 1), channels), 1, 1, channels)
	bias := g.feed(narrowed(c.Node.Attributes["bias"].Floats)[:channels], channels)
	g.expect(conv.DepthwiseConv2D(g.feed(values, shape...), weight, bias, conv.Square(1, 0)), want, expected...)
}

func onnxGemm(g *onnxGraph, c *onnxtest.Case) {
	matrix := func(t *onnx.Tensor, transpose int) *tensor.Tensor {
		values, shape := permuted(t, []int{transpose, 1 - transpose}...)
		return g.feed(values, shape...)
	}
	a, b := matrix(input(c, 0), integer(c, "transA", 0)), matrix(input(c, 1), integer(c, "transB", 0))
	rows, columns := a.Dim(0), b.Dim(1)
	if alpha := number(c, "alpha", 1); alpha != 1 {
		a = pointwise.Scale(a, alpha)
	}
	var y *tensor.Tensor
	bias := optional(c, 2)
	beta := number(c, "beta", 1)
	switch {
	case bias == nil:
		y = conv.Linear(a, b, nil)
	case len(bias.Values) == 1:
		y = conv.Linear(a, b, g.feed(repeated(beta*floats(bias)[0], columns), columns))
	case len(bias.Values) == columns && bias.Dims[len(bias.Dims)-1] == columns:
		y = conv.Linear(a, b, pointwise.Scale(g.feed(floats(bias), columns), beta))
	case len(bias.Values) == rows*columns:
		y = pointwise.Add(conv.Linear(a, b, nil), pointwise.Scale(g.feed(floats(bias), rows, columns), beta))
	default:
		unsupported("a bias for every row")
	}
	g.expect(y, floats(c.Outputs[0]), rows, columns)
}

// onnxMatMul is a linear layer, or with leading axes a grouped one with a group for each matrix.
func onnxMatMul(g *onnxGraph, c *onnxtest.Case) {
	a, b := input(c, 0), input(c, 1)
	if len(a.Dims) < 2 || len(b.Dims) < 2 {
		unsupported("vectors")
	}
	n := len(a.Dims)
	rows, inner, columns := a.Dims[n-2], a.Dims[n-1], b.Dims[len(b.Dims)-1]
	if len(b.Dims) == 2 { // one matrix for all
		shape := append(slices.Clone(a.Dims[:n-1]), columns)
		g.expect(conv.Linear(g.feed(floats(a), a.Dims...), g.feed(floats(b), inner, columns), nil), floats(c.Outputs[0]), shape...)
		return
	}
	groups := product(b.Dims[:len(b.Dims)-2])
	if n != len(b.Dims) || !slices.Equal(a.Dims[:n-2], b.Dims[:n-2]) {
		unsupported("broadcasting")
	}
	rowsFirst := append(append([]int{n - 2}, sequence(0, n-2)...), n-1) // (rows, groups, columns)
	values, _ := permuted(a, rowsFirst...)
	want, _ := permuted(c.Outputs[0], rowsFirst...)
	y := conv.GroupedLinear(g.feed(values, rows, groups*inner), g.feed(floats(b), groups, inner, columns), nil)
	g.expect(y, want, rows, groups*columns)
}
