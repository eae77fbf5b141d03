package onnx

import (
	"fmt"
	"math"
	"slices"
)

// requireRank panics unless x has rank axes.
func requireRank(operator string, x *Value, rank int) {
	if len(x.Shape) != rank {
		panic(fmt.Sprintf("onnx: %s: %v should have %d axes", operator, x, rank))
	}
}

// window is the extent of one axis of the result, if a window of k elements moves by stride over n
// elements and the padding before and after them.
func window(operator string, n, k, stride, before, after int) int {
	if k < 1 || stride < 1 || before < 0 || after < 0 || n+before+after < k {
		panic(fmt.Sprintf("onnx: %s: a window of %d with stride %d and padding %d, %d does not fit %d", operator, k, stride, before, after, n))
	}
	return (n+before+after-k)/stride + 1
}

// Conv convolves x (N, C, H, W) with weight (Cout, C/groups, kh, kw) and bias (Cout) or nil. pads
// are in ONNX's order: top, left, bottom, right.
func (g *Graph) Conv(x, weight, bias *Value, stride int, pads [4]int, groups int) *Value {
	requireRank("Conv", x, 4)
	requireRank("Conv", weight, 4)
	if x.Dim(1) != weight.Dim(1)*groups || weight.Dim(0)%groups != 0 {
		panic(fmt.Sprintf("onnx: Conv: %v with %v in %d groups", x, weight, groups))
	}
	requireBias("Conv", bias, weight.Dim(0))
	kh, kw := weight.Dim(2), weight.Dim(3)
	rows, columns := window("Conv", x.Dim(2), kh, stride, pads[0], pads[2]), window("Conv", x.Dim(3), kw, stride, pads[1], pads[3])
	return g.node("Conv", []int{x.Dim(0), weight.Dim(0), rows, columns}, map[string]Attribute{
		"kernel_shape": list(kh, kw), "strides": list(stride, stride), "pads": list(pads[:]...), "group": integer(groups),
	}, present(x, weight, bias)...)
}

// ConvTranspose enlarges x (N, C, H, W) k times with weight (C, Cout, k, k) and bias (Cout) or nil.
// The stride is k: windows do not overlap.
func (g *Graph) ConvTranspose(x, weight, bias *Value) *Value {
	requireRank("ConvTranspose", x, 4)
	requireRank("ConvTranspose", weight, 4)
	k := weight.Dim(2)
	if x.Dim(1) != weight.Dim(0) || weight.Dim(3) != k {
		panic(fmt.Sprintf("onnx: ConvTranspose: %v with %v", x, weight))
	}
	requireBias("ConvTranspose", bias, weight.Dim(1))
	return g.node("ConvTranspose", []int{x.Dim(0), weight.Dim(1), k * x.Dim(2), k * x.Dim(3)}, map[string]Attribute{
		"kernel_shape": list(k, k), "strides": list(k, k),
	}, present(x, weight, bias)...)
}

func requireBias(operator string, bias *Value, channels int) {
	if bias != nil && !slices.Equal(bias.Shape, []int{channels}) {
		panic(fmt.Sprintf("onnx: %s: %v should have %d channels", operator, bias, channels))
	}
}

// present removes nil values from the end.
func present(values ...*Value) []*Value {
	for len(values) > 0 && values[len(values)-1] == nil {
		values = values[:len(values)-1]
	}
	return values
}

// MaxPool is the largest of each k×k window of x (N, C, H, W).
func (g *Graph) MaxPool(x *Value, k, stride, pad int) *Value {
	requireRank("MaxPool", x, 4)
	shape := []int{x.Dim(0), x.Dim(1), window("MaxPool", x.Dim(2), k, stride, pad, pad), window("MaxPool", x.Dim(3), k, stride, pad, pad)}
	return g.pool("MaxPool", x, shape, k, stride, [4]int{pad, pad, pad, pad})
}

// AveragePool is the mean of each k×k window of x (N, C, H, W). Padding does not count. pads are in
// ONNX's order: top, left, bottom, right.
func (g *Graph) AveragePool(x *Value, k, stride int, pads [4]int) *Value {
	requireRank("AveragePool", x, 4)
	rows, columns := window("AveragePool", x.Dim(2), k, stride, pads[0], pads[2]), window("AveragePool", x.Dim(3), k, stride, pads[1], pads[3])
	return g.pool("AveragePool", x, []int{x.Dim(0), x.Dim(1), rows, columns}, k, stride, pads)
}

// pool takes the paddings in ONNX's order: top, left, bottom, right.
func (g *Graph) pool(operator string, x *Value, shape []int, k, stride int, pads [4]int) *Value {
	return g.node(operator, shape, map[string]Attribute{
		"kernel_shape": list(k, k), "strides": list(stride, stride), "pads": list(pads[:]...),
	}, x)
}

// Resize enlarges the last two axes of x (N, C, H, W) by a whole factor. It is bilinear, with
// half-pixel positions and clamped edges.
func (g *Graph) Resize(x *Value, factor int) *Value {
	requireRank("Resize", x, 4)
	f := float64(factor)
	scales := g.Constant(fmt.Sprintf("scales %d", factor), func() []float64 { return []float64{1, 1, f, f} }, 4)
	return g.node("Resize", []int{x.Dim(0), x.Dim(1), factor * x.Dim(2), factor * x.Dim(3)}, map[string]Attribute{
		"mode": text("linear"), "coordinate_transformation_mode": text("half_pixel"),
	}, x, nil, scales)
}

// Elementwise is an operator of ONNX on single elements, without attributes, such as Relu or Mul.
// Inputs may lack leading axes or have axes of extent 1.
func (g *Graph) Elementwise(operator string, inputs ...*Value) *Value {
	shape := inputs[0].Shape
	for _, x := range inputs[1:] {
		shape = broadcast(operator, inputs[0], x, shape, x.Shape)
	}
	return g.node(operator, shape, nil, inputs...)
}

// Clip is min(max(x, low), high).
func (g *Graph) Clip(x *Value, low, high float64) *Value {
	return g.node("Clip", x.Shape, nil, x, g.scalar(low), g.scalar(high))
}

// AtLeast is max(x, low). It does not use Clip, because ONNX Runtime 1.30 on WebGPU fuses Conv,
// Sigmoid and Clip into a convolution without the sigmoid.
func (g *Graph) AtLeast(x *Value, low float64) *Value { return g.Elementwise("Max", x, g.scalar(low)) }

// Gelu is x Φ(x) = x (1 + erf(x/√2)) / 2. PyTorch exports the same nodes, and ONNX Runtime fuses
// them into one operator.
func (g *Graph) Gelu(x *Value) *Value {
	erf := g.node("Erf", x.Shape, nil, g.Elementwise("Div", x, g.scalar(math.Sqrt2)))
	return g.Elementwise("Mul", g.Elementwise("Mul", x, g.Add(erf, g.scalar(1))), g.scalar(0.5))
}

// Add is a + b. One of them may lack leading axes or have axes of extent 1.
func (g *Graph) Add(a, b *Value) *Value { return g.Elementwise("Add", a, b) }

// Times is x times a number.
func (g *Graph) Times(x *Value, factor float64) *Value {
	return g.Elementwise("Mul", x, g.scalar(factor))
}

// Plus is x plus a number.
func (g *Graph) Plus(x *Value, offset float64) *Value { return g.Add(x, g.scalar(offset)) }

// Min is the smaller of a and b.
func (g *Graph) Min(a, b *Value) *Value { return g.Elementwise("Min", a, b) }

// broadcast is the shape of an element-wise result of shapes x and y. It panics with the names of a
// and b if there is none.
func broadcast(operator string, a, b *Value, x, y []int) []int {
	if len(x) < len(y) {
		x, y = y, x
	}
	shape := slices.Clone(x)
	for i, n := range y {
		at := len(x) - len(y) + i
		switch {
		case shape[at] == 1:
			shape[at] = n
		case n != 1 && n != shape[at]:
			panic(fmt.Sprintf("onnx: %s: %v and %v", operator, a, b))
		}
	}
	return shape
}

// MatMul multiplies matrices in the last two axes: (…, N, K) by (…, K, M).
func (g *Graph) MatMul(a, b *Value) *Value {
	if len(a.Shape) < 2 || len(b.Shape) < 2 || a.Dim(-1) != b.Dim(-2) {
		panic(fmt.Sprintf("onnx: MatMul: %v and %v", a, b))
	}
	shape := broadcast("MatMul", a, b, a.Shape[:len(a.Shape)-2], b.Shape[:len(b.Shape)-2])
	return g.node("MatMul", append(shape, a.Dim(-2), b.Dim(-1)), nil, a, b)
}

// Softmax is over the last axis.
func (g *Graph) Softmax(x *Value) *Value {
	return g.node("Softmax", x.Shape, map[string]Attribute{"axis": integer(-1)}, x)
}

// LayerNormalization normalises the last axis to mean 0 and variance 1, then applies scale and
// bias.
func (g *Graph) LayerNormalization(x, scale, bias *Value, epsilon float64) *Value {
	requireBias("LayerNormalization", scale, x.Dim(-1))
	requireBias("LayerNormalization", bias, x.Dim(-1))
	return g.node("LayerNormalization", x.Shape, map[string]Attribute{"axis": integer(-1), "epsilon": number(epsilon)}, x, scale, bias)
}

// Transpose reorders the axes: axis i of the result is axis order[i] of x.
func (g *Graph) Transpose(x *Value, order ...int) *Value {
	requireRank("Transpose", x, len(order))
	shape := make([]int, len(order))
	for i, axis := range order {
		shape[i] = x.Dim(axis)
	}
	return g.node("Transpose", shape, map[string]Attribute{"perm": list(order...)}, x)
}

// Reshape keeps the elements of x, row by row, in another shape.
func (g *Graph) Reshape(x *Value, shape ...int) *Value {
	elements := func(shape []int) int { t := Tensor{Dims: shape}; return t.Elements() }
	if elements(x.Shape) != elements(shape) {
		panic(fmt.Sprintf("onnx: Reshape: %v to %v", x, shape))
	}
	return g.node("Reshape", shape, nil, x, g.integers(shape...))
}

// Concat joins values along an axis.
func (g *Graph) Concat(axis int, values ...*Value) *Value {
	shape := slices.Clone(values[0].Shape)
	shape[axis] = 0
	for _, v := range values {
		other := slices.Clone(v.Shape)
		shape[axis], other[axis] = shape[axis]+v.Dim(axis), shape[axis]+v.Dim(axis)
		if !slices.Equal(shape, other) {
			panic(fmt.Sprintf("onnx: Concat along axis %d: %v", axis, values))
		}
	}
	return g.node("Concat", shape, map[string]Attribute{"axis": integer(axis)}, values...)
}

// Split cuts x along an axis into pieces of extent 1.
func (g *Graph) Split(x *Value, axis int) []*Value {
	shapes, ones := make([][]int, x.Dim(axis)), make([]int, x.Dim(axis))
	for i := range shapes {
		shapes[i], ones[i] = slices.Clone(x.Shape), 1
		shapes[i][axis] = 1
	}
	return g.nodes("Split", shapes, map[string]Attribute{"axis": integer(axis)}, x, g.integers(ones...))
}
