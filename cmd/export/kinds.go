package main

import (
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
	"mrprism/weights/format/onnx"
)

// kind is how operators of a kind are written: on which layout of maps, and as which nodes.
type kind struct {
	layout layout
	print  func(p *printer, op *tensor.Op, f layout) *onnx.Value // f is not either
}

// kinds are the operators of inference, but for those that ONNX has too (tensor.Kind.ONNX).
func kinds() map[*tensor.Kind]kind {
	return map[*tensor.Kind]kind{
		conv.Conv2DKind:            {plane, printConvolution},
		conv.DepthwiseKind:         {plane, printDepthwise},
		conv.ConvTranspose2x2Kind:  {plane, printTransposed},
		conv.GroupedLinearKind:     {plane, printGroupedLinear},
		pool.MaxKind:               {plane, printMaxPool},
		pool.AverageKind:           {plane, printAveragePool},
		pool.ResizeKind:            {plane, printResize},
		conv.LinearKind:            {either, printLinear},
		pointwise.ReLU6Kind:        {either, unary(func(g *onnx.Graph, x *onnx.Value) *onnx.Value { return g.Clip(x, 0, 6) })},
		pointwise.GELUKind:         {either, unary((*onnx.Graph).Gelu)},
		pointwise.ClampKind:        {either, printClamp},
		pointwise.ScaleKind:        {either, printScale},
		pointwise.ConcatKind:       {plane, printConcat},
		pointwise.SplitKind:        {plane, printSplit},
		pointwise.ClampLogKind:     {either, printClampLog},
		pointwise.AddBroadcastKind: {tokens, printElementwise("Add")}, // of positions: maps of one size share a table
		norm.LayerNormKind:         {tokens, printLayerNorm},
		attention.Kind:             {tokens, printAttention},
	}
}

func unary(node func(g *onnx.Graph, x *onnx.Value) *onnx.Value) func(p *printer, op *tensor.Op, f layout) *onnx.Value {
	return func(p *printer, op *tensor.Op, f layout) *onnx.Value { return node(p.Graph, p.value(op.Inputs[0], f)) }
}

// square is the stride and the padding of an operator's window that has one of each.
func square(op *tensor.Op, w conv.Window) (stride, pad int) {
	if w != conv.Square(w.StrideY, w.Top) {
		refuse(op, "export writes windows of one stride and one padding only")
	}
	return w.StrideY, w.Top
}

// padded is the stride and the paddings of a convolution's window that has one stride.
func padded(op *tensor.Op) (stride int, pads [4]int) {
	w := op.Attributes.(conv.Window)
	if w.StrideX != w.StrideY {
		refuse(op, "export writes convolutions of one stride only")
	}
	return w.StrideY, [4]int{w.Top, w.Left, w.Bottom, w.Right}
}

func printConvolution(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	stride, pads := padded(op)
	return p.Conv(p.value(op.Inputs[0], plane), p.weight(op, op.Inputs[1].Shape(), []int{3, 2, 0, 1}), p.bias(op), stride, pads, 1)
}

func printDepthwise(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	stride, pads := padded(op)
	kh, kw, c := op.Inputs[1].Dim(0), op.Inputs[1].Dim(1), op.Inputs[1].Dim(2)
	return p.Conv(p.value(op.Inputs[0], plane), p.weight(op, []int{kh, kw, 1, c}, []int{3, 2, 0, 1}), p.bias(op), stride, pads, c)
}

func printTransposed(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	return p.ConvTranspose(p.value(op.Inputs[0], plane), p.weight(op, op.Inputs[1].Shape(), []int{2, 3, 0, 1}), p.bias(op))
}

// printLinear writes a product with a matrix, or a 1×1 convolution of a plane.
func printLinear(p *printer, op *tensor.Op, f layout) *onnx.Value {
	in, out := op.Inputs[1].Dim(0), op.Inputs[1].Dim(1)
	x := p.value(op.Inputs[0], f)
	if f == plane {
		return p.Conv(x, p.weight(op, []int{1, 1, in, out}, []int{3, 2, 0, 1}), p.bias(op), 1, [4]int{}, 1)
	}
	y := p.MatMul(x, p.weight(op, []int{in, out}, []int{0, 1}))
	if b := p.bias(op); b != nil {
		y = p.Add(y, b)
	}
	return y
}

// printGroupedLinear writes a 1×1 convolution in groups, one output at a time beside the others.
func printGroupedLinear(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	groups, in, out := op.Inputs[1].Dim(0), op.Inputs[1].Dim(1), op.Inputs[1].Dim(2)
	weight := p.weight(op, op.Inputs[1].Shape(), []int{0, 2, 1}, groups*out, in, 1, 1)
	return p.Conv(p.value(op.Inputs[0], plane), weight, p.bias(op), 1, [4]int{}, groups)
}

func printMaxPool(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	a := op.Attributes.(pool.Pooling)
	stride, pad := square(op, a.Window)
	if a.Height != a.Width {
		refuse(op, "export writes square windows only")
	}
	return p.MaxPool(p.value(op.Inputs[0], plane), a.Height, stride, pad)
}

func printAveragePool(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	a := op.Attributes.(pool.Pooling)
	w := a.Window
	if a.Width != a.Height || w.StrideX != w.StrideY {
		refuse(op, "export writes square windows of one stride only")
	}
	return p.AveragePool(p.value(op.Inputs[0], plane), a.Height, w.StrideY, [4]int{w.Top, w.Left, w.Bottom, w.Right})
}

func printResize(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	x, y := op.Inputs[0], op.Output()
	factor := y.Dim(1) / x.Dim(1)
	if y.Dim(1) != factor*x.Dim(1) || y.Dim(2) != factor*x.Dim(2) {
		refuse(op, "export enlarges by whole factors only")
	}
	return p.Resize(p.value(x, plane), factor)
}

// printElementwise writes one operator of ONNX on the same inputs.
func printElementwise(operator string) func(p *printer, op *tensor.Op, f layout) *onnx.Value {
	return func(p *printer, op *tensor.Op, f layout) *onnx.Value {
		var inputs []*onnx.Value
		for _, x := range op.Inputs {
			inputs = append(inputs, p.value(x, f))
		}
		return p.Elementwise(operator, inputs...)
	}
}

func printClamp(p *printer, op *tensor.Op, f layout) *onnx.Value {
	a := op.Attributes.(*pointwise.ClampParams)
	return p.Clip(p.value(op.Inputs[0], f), float64(a.Low), float64(a.High))
}

func printScale(p *printer, op *tensor.Op, f layout) *onnx.Value {
	a := op.Attributes.(*pointwise.ElementwiseParams)
	y := p.Times(p.value(op.Inputs[0], f), float64(a.Factor))
	if a.Offset != 0 {
		y = p.Plus(y, float64(a.Offset))
	}
	return y
}

func printConcat(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	return p.Concat(1, p.value(op.Inputs[0], plane), p.value(op.Inputs[1], plane))
}

// printSplit writes the second part.
func printSplit(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	return p.Concat(1, p.Split(p.value(op.Inputs[0], plane), 1)[op.Outputs[0].Dim(-1):]...)
}

// printFirst writes the first part of a Split.
func printFirst(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	return p.Concat(1, p.Split(p.value(op.Inputs[0], plane), 1)[:op.Outputs[0].Dim(-1)]...)
}

// printClampLog leaves out the upper limit, which a sigmoid keeps.
func printClampLog(p *printer, op *tensor.Op, f layout) *onnx.Value {
	a, from, x := op.Attributes.(*pointwise.ClampParams), p.makers[op.Inputs[0].Storage()], p.value(op.Inputs[0], f)
	if a.High == 1 && from != nil && from.Kind == pointwise.SigmoidKind {
		return p.Elementwise("Log", p.AtLeast(x, float64(a.Low)))
	}
	return p.Elementwise("Log", p.Clip(x, float64(a.Low), float64(a.High)))
}

func printLayerNorm(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	scale := p.weight(op, op.Inputs[1].Shape(), []int{0})
	return p.LayerNormalization(p.value(op.Inputs[0], tokens), scale, p.bias(op), float64(op.Attributes.(*norm.LayerNormParams).Eps))
}

// printAttention reads keys and values before they are joined. The factor of the scores is in the
// parameters of the queries (shaders.Portable).
func printAttention(p *printer, op *tensor.Op, _ layout) *onnx.Value {
	a, joined := op.Attributes.(*attention.Params), p.makers[op.Inputs[1].Storage()]
	if joined == nil || joined.Kind != pointwise.ConcatKind {
		refuse(op, "export writes keys and values that a Concat joins only")
	}
	q, k, v := p.value(op.Inputs[0], tokens), p.value(joined.Inputs[0], tokens), p.value(joined.Inputs[1], tokens)
	heads := int(a.Heads)
	switch {
	case a.Scale != 1:
		refuse(op, "the queries have no factor")
	case heads == 1:
		return p.MatMul(p.Softmax(p.MatMul(q, p.Transpose(k, 0, 2, 1))), v)
	}
	width := q.Dim(2) / heads
	// split makes (1, N, heads·d) to (1, heads, N, d), or to (1, heads, d, N).
	split := func(x *onnx.Value, order ...int) *onnx.Value {
		return p.Transpose(p.Reshape(x, 1, x.Dim(1), heads, width), order...)
	}
	weights := p.Softmax(p.MatMul(split(q, 0, 2, 1, 3), split(k, 0, 2, 3, 1)))
	attended := p.MatMul(weights, split(v, 0, 2, 1, 3))
	return p.Reshape(p.Transpose(attended, 0, 2, 1, 3), 1, q.Dim(1), q.Dim(2))
}
