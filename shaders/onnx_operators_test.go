package shaders_test

import (
	"math"
	"slices"

	"mrprism/shaders/adam"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
	"mrprism/weights/format/onnx"
	"mrprism/weights/format/onnx/onnxtest"
)

// onnxOperator returns a function that builds an operator of ONNX from ours, or nil if that is
// impossible.
func onnxOperator(name string) func(g *onnxGraph, c *onnxtest.Case) {
	for _, k := range pointwise.Scalars {
		if k.ONNX == name {
			return func(g *onnxGraph, c *onnxtest.Case) {
				g.elementwise(c, func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Apply(k, x) })
			}
		}
	}
	return onnxOperators[name]
}

// onnxOperators expresses operators of ONNX by ours, if they are no functions of one number
// (pointwise.Scalars).
var onnxOperators = map[string]func(g *onnxGraph, c *onnxtest.Case){
	"Adam":                  onnxAdam,
	"Add":                   func(g *onnxGraph, c *onnxtest.Case) { g.sum(c, 1, 1) },
	"AveragePool":           onnxAveragePool,
	"BatchNormalization":    onnxBatchNorm,
	"Clip":                  onnxClip,
	"Concat":                onnxConcat,
	"Conv":                  onnxConv,
	"ConvTranspose":         onnxConvTranspose,
	"Erf":                   onnxErf,
	"Gemm":                  onnxGemm,
	"GlobalAveragePool":     onnxGlobalPool,
	"GlobalMaxPool":         onnxGlobalPool,
	"Greater":               func(g *onnxGraph, c *onnxtest.Case) { onnxCompare(g, c, 1) },
	"ImageScaler":           onnxImageScaler,
	"InstanceNormalization": onnxInstanceNorm,
	"LayerNormalization":    onnxLayerNorm,
	"LeakyRelu": func(g *onnxGraph, c *onnxtest.Case) { // α x + (1 - α) max(x, 0)
		alpha := number(c, "alpha", 0.01)
		g.elementwise(c, func(x *tensor.Tensor) *tensor.Tensor {
			return pointwise.Add(pointwise.Scale(x, alpha), pointwise.Scale(pointwise.ReLU(x), 1-alpha))
		})
	},
	"Less":       func(g *onnxGraph, c *onnxtest.Case) { onnxCompare(g, c, -1) },
	"LogSoftmax": func(g *onnxGraph, c *onnxtest.Case) { onnxSoftmax(g, c, true) },
	"MatMul":     onnxMatMul,
	"MaxPool":    onnxMaxPool,
	"Mean":       func(g *onnxGraph, c *onnxtest.Case) { onnxSum(g, c, 1/float32(len(c.Inputs))) },
	"Mul":        onnxMul,
	"Neg": func(g *onnxGraph, c *onnxtest.Case) {
		g.elementwise(c, func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Scale(x, -1) })
	},
	"ReduceMax":  onnxReduce,
	"ReduceMean": onnxReduce,
	"ReduceMin":  onnxReduce,
	"ReduceSum":  onnxReduce,
	"Resize":     onnxResize,
	"Softmax":    func(g *onnxGraph, c *onnxtest.Case) { onnxSoftmax(g, c, false) },
	"Sub":        func(g *onnxGraph, c *onnxtest.Case) { g.sum(c, 1, -1) },
	"Sum":        func(g *onnxGraph, c *onnxtest.Case) { onnxSum(g, c, 1) },
	"Transpose":  onnxTranspose,
}

// elementwise feeds the case's input to an operator on single elements.
func (g *onnxGraph) elementwise(c *onnxtest.Case, f func(x *tensor.Tensor) *tensor.Tensor) {
	x := input(c, 0)
	g.expect(f(g.feed(floats(x), extents(x)...)), floats(c.Outputs[0]), extents(x)...)
}

// pair feeds two operands as (rows, columns) and (rows, columns) or (columns): the smaller one is
// repeated over leading axes. It says whether they were exchanged for that.
func (g *onnxGraph) pair(c *onnxtest.Case) (large, small *tensor.Tensor, exchanged bool) {
	a, b := input(c, 0), input(c, 1)
	if len(a.Values) < len(b.Values) {
		a, b, exchanged = b, a, true
	}
	trailing := b.Dims
	for len(trailing) > 0 && trailing[0] == 1 {
		trailing = trailing[1:]
	}
	if len(trailing) > len(a.Dims) || !slices.Equal(trailing, a.Dims[len(a.Dims)-len(trailing):]) || len(c.Outputs[0].Values) != len(a.Values) {
		unsupported("broadcasting along other than leading axes")
	}
	columns := len(b.Values)
	return g.feed(floats(a), len(a.Values)/columns, columns), g.feed(floats(b), columns), exchanged
}

// sum is a x + b y, with the smaller operand repeated.
func (g *onnxGraph) sum(c *onnxtest.Case, a, b float32) {
	g.expectSum(c, func(y *tensor.Tensor) *tensor.Tensor { return y }, floats, a, b)
}

func (g *onnxGraph) expectSum(c *onnxtest.Case, then func(y *tensor.Tensor) *tensor.Tensor, want func(*onnx.Tensor) []float32, a, b float32) {
	x, y, exchanged := g.pair(c)
	if exchanged {
		a, b = b, a
	}
	if a != 1 {
		x = pointwise.Scale(x, a)
	}
	if b != 1 {
		y = pointwise.Scale(y, b)
	}
	if x.Elements() == y.Elements() {
		g.expect(then(pointwise.Add(x, y.Reshape(x.Shape()...))), want(c.Outputs[0]), x.Shape()...)
	} else {
		g.expect(then(pointwise.AddBroadcast(x, y)), want(c.Outputs[0]), x.Shape()...)
	}
}

// onnxCompare is a threshold of the difference of both inputs, times the sign of the comparison.
func onnxCompare(g *onnxGraph, c *onnxtest.Case, sign float32) {
	g.expectSum(c, func(y *tensor.Tensor) *tensor.Tensor { return pointwise.Threshold(y, 0) }, func(t *onnx.Tensor) []float32 { return narrowed(t.Values) }, sign, -sign)
}

func onnxSum(g *onnxGraph, c *onnxtest.Case, factor float32) {
	shape := extents(c.Outputs[0])
	var y *tensor.Tensor
	for i := range c.Inputs {
		if !slices.Equal(extents(input(c, i)), shape) {
			unsupported("broadcasting")
		}
		if x := g.feed(floats(input(c, i)), shape...); y == nil {
			y = x
		} else {
			y = pointwise.Add(y, x)
		}
	}
	g.expect(pointwise.Scale(y, factor), floats(c.Outputs[0]), shape...)
}

// onnxMul is the weighing of the maps of raters by weights that all pixels share.
func onnxMul(g *onnxGraph, c *onnxtest.Case) {
	x, y, _ := g.pair(c)
	rows, columns := x.Dim(0), x.Dim(1)
	product := raters.Weigh(x.Reshape(1, rows, 1, 1, columns), y.Reshape(1, 1, columns))
	g.expect(product, floats(c.Outputs[0]), 1, rows, 1, 1, columns)
}

func onnxClip(g *onnxGraph, c *onnxtest.Case) {
	low, high := number(c, "min", -math.MaxFloat32), number(c, "max", math.MaxFloat32) // attributes before opset 11, then inputs
	for i, bound := range []*float32{&low, &high} {
		if t := optional(c, i+1); t != nil {
			*bound = floats(t)[0]
		}
	}
	g.elementwise(c, func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Clamp(x, low, high) })
}

// onnxErf compares GELU(√2 x) = x (1 + erf x) / √2.
func onnxErf(g *onnxGraph, c *onnxtest.Case) {
	x, erf := input(c, 0), floats(c.Outputs[0])
	scaled, want := floats(x), make([]float32, len(erf))
	for i := range scaled {
		want[i] = float32(float64(scaled[i]) * (1 + float64(erf[i])) / math.Sqrt2)
		scaled[i] = float32(math.Sqrt2 * float64(scaled[i]))
	}
	g.expect(pointwise.GELU(g.feed(scaled, extents(x)...)), want, extents(x)...)
}

func onnxConcat(g *onnxGraph, c *onnxtest.Case) {
	axis := integer(c, "axis", 1)
	var y *tensor.Tensor
	for i := range c.Inputs {
		values, shape := axisLast(input(c, i), axis)
		if x := g.feed(values, shape...); y == nil {
			y = x
		} else {
			y = pointwise.Concat(y, x)
		}
	}
	if len(c.Inputs) < 2 {
		unsupported("nothing to compute")
	}
	want, shape := axisLast(c.Outputs[0], axis)
	g.expect(y, want, shape...)
}

func onnxTranspose(g *onnxGraph, c *onnxtest.Case) {
	x := input(c, 0)
	rank := len(x.Dims)
	reversed := sequence(0, rank)
	slices.Reverse(reversed)
	perm := list(c, "perm", reversed...)
	// Leading axes that stay, then the rest rotated: a matrix transposed, as many times as the leading
	// axes have elements.
	kept := 0
	for kept < rank && perm[kept] == kept {
		kept++
	}
	if kept == rank {
		unsupported("nothing to compute")
	}
	first := perm[kept]
	if !slices.Equal(perm[kept:], append(sequence(first, rank), sequence(kept, first)...)) {
		unsupported("an order of axes that does not transpose matrices")
	}
	count, rows, columns := product(x.Dims[:kept]), product(x.Dims[kept:first]), product(x.Dims[first:])
	g.expect(pointwise.Transposed(g.feed(floats(x), count, rows, columns)), floats(c.Outputs[0]), count, columns, rows)
}

func onnxResize(g *onnxGraph, c *onnxtest.Case) {
	x, y := input(c, 0), c.Outputs[0]
	mode, position := c.Node.Attributes["mode"].String, c.Node.Attributes["coordinate_transformation_mode"].String
	if mode != "linear" || len(x.Dims) != 4 || !slices.Equal(x.Dims[:2], y.Dims[:2]) {
		unsupported("other than bilinear")
	}
	if position != "" && position != "half_pixel" && position != "pytorch_half_pixel" || g.opset < 11 {
		unsupported("positions other than half-pixel")
	}
	if position == "pytorch_half_pixel" && min(y.Dims[2], y.Dims[3]) == 1 {
		unsupported("an extent of 1, which pytorch_half_pixel treats apart")
	}
	if scales := optional(c, 2); scales != nil && len(scales.Values) == 4 {
		for i, s := range scales.Values {
			if math.Abs(s*float64(x.Dims[i])-float64(y.Dims[i])) > 1e-5 {
				unsupported("a scale that is not the quotient of the extents")
			}
		}
	}
	values, shape := channelsLast(x)
	want, expected := channelsLast(y)
	g.expect(pool.Resize(g.feed(values, shape...), expected[1], expected[2]), want, expected...)
}

// onnxSoftmax attends to the unit vectors: softmax(q I) I.
func onnxSoftmax(g *onnxGraph, c *onnxtest.Case, logarithm bool) {
	x := input(c, 0)
	axis := integer(c, "axis", -1)
	values, shape := floats(x), extents(x)
	want := floats(c.Outputs[0])
	columns := 0
	if g.opset < 13 { // over all axes from this one on
		axis = wrap(integer(c, "axis", 1), len(shape))
		columns = product(shape[axis:])
	} else {
		axis = wrap(axis, len(shape))
		columns = shape[axis]
		values, _ = axisLast(x, axis)
		want, _ = axisLast(c.Outputs[0], axis)
	}
	if columns > 64 {
		unsupported("more than 64 classes")
	}
	units := make([]float32, columns*columns)
	for i := range columns {
		units[i*columns+i] = 1
	}
	rows := len(values) / columns
	unit := g.feed(units, 1, columns, columns)
	y := attention.Attention(pointwise.Scale(g.feed(values, 1, rows, columns), float32(math.Sqrt(float64(columns)))), pointwise.Concat(unit, unit), 1)
	if logarithm {
		y = pointwise.ClampLog(y, 0x1p-126, 1)
	}
	g.expect(y, want, 1, rows, columns)
}

// onnxReduce is a pooling over one large window, or a sum of rows.
func onnxReduce(g *onnxGraph, c *onnxtest.Case) {
	x := input(c, 0)
	axes := slices.Clone(list(c, "axes"))
	if t := optional(c, 1); t != nil {
		for _, v := range t.Values {
			axes = append(axes, int(v))
		}
	}
	if len(axes) == 0 && integer(c, "noop_with_empty_axes", 0) == 1 {
		unsupported("nothing to compute")
	}
	for i := range axes {
		axes[i] = wrap(axes[i], len(x.Dims))
	}
	if len(axes) == 0 {
		axes = sequence(0, len(x.Dims))
	}
	kept := slices.DeleteFunc(sequence(0, len(x.Dims)), func(i int) bool { return slices.Contains(axes, i) })
	values, shape := permuted(x, append(slices.Clone(axes), kept...)...)
	rows := product(shape[:len(axes)])
	columns := len(values) / rows
	want := floats(c.Outputs[0])
	image := g.feed(values, 1, rows, 1, columns)
	operator := c.Node.Operator
	switch {
	case operator == "ReduceSum" && columns == 1:
		g.expect(pointwise.Sum(image), want, 1)
	case operator == "ReduceSum":
		y := g.New("sums", []int{columns})
		pointwise.ReduceRows(pointwise.ReduceRowsWrite, image, y, columns)
		g.expect(y, want, columns)
	case operator == "ReduceMean":
		g.expect(pool.Average(image, rows, 1, conv.Square(1, 0)), want, 1, 1, 1, columns)
	case operator == "ReduceMax":
		g.expect(pool.Max(image, rows, 1, conv.Square(1, 0)), want, 1, 1, 1, columns)
	default:
		g.expect(pointwise.Scale(pool.Max(pointwise.Scale(image, -1), rows, 1, conv.Square(1, 0)), -1), want, 1, 1, 1, columns)
	}
}

// onnxAdam is one step a tensor; ONNX's constants are those of the schedule.
func onnxAdam(g *onnxGraph, c *onnxtest.Case) {
	rate, step := input(c, 0).Values[0], input(c, 1).Values[0]
	if number(c, "norm_coefficient_post", 0) != 0 {
		unsupported("regularisation after the step")
	}
	options := adam.Options{Beta1: number(c, "alpha", 0.9), Beta2: number(c, "beta", 0.999), Epsilon: number(c, "epsilon", 1e-6)}
	if c.Name == "test_adam_multiple" {
		options.Epsilon = 1e-2 // ONNX computed the case with this and forgot to state it in the node
	}
	if step > 0 {
		rate *= math.Sqrt(1-math.Pow(float64(options.Beta2), step)) / (1 - math.Pow(float64(options.Beta1), step))
	}
	schedule := g.feed([]float32{float32(rate), 1, 1, 1, 0}, 5)
	n := (len(c.Inputs) - 2) / 4
	for i := range n {
		x, gradient, m, v := input(c, 2+i), input(c, 2+n+i), input(c, 2+2*n+i), input(c, 2+3*n+i)
		shape := extents(x)
		of := func(t *onnx.Tensor) *tensor.Tensor { return g.feed(floats(t), shape...) }
		p, first, second := of(x), of(m), of(v)
		regularised := pointwise.Add(of(gradient), pointwise.Scale(p, number(c, "norm_coefficient", 0)))
		adam.Step(p, regularised, first, second, g.feed(make([]float32, len(x.Values)), shape...), schedule, options)
		for k, t := range []*tensor.Tensor{p, first, second} {
			g.expect(t, floats(c.Outputs[k*n+i]), shape...)
		}
	}
}
