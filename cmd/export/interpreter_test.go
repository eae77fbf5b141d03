package main

import (
	"fmt"
	"math"

	"mrprism/shaders/pointwise"
	"mrprism/weights/format/onnx"
)

// array is a tensor of the interpreter, row by row.
type array struct {
	shape  []int
	values []float64
}

func newArray(shape ...int) array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return array{shape, make([]float64, n)}
}

// at is the number of the element at an index.
func (a array) at(index ...int) int {
	n := 0
	for axis, i := range index {
		n = n*a.shape[axis] + i
	}
	return n
}

// each calls f with every index, in the order of the elements; f must not keep it.
func (a array) each(f func(element int, index []int)) {
	index := make([]int, len(a.shape))
	for element := range a.values {
		rest := element
		for axis := len(index) - 1; axis >= 0; axis-- {
			index[axis], rest = rest%a.shape[axis], rest/a.shape[axis]
		}
		f(element, index)
	}
}

// interpret runs a model in float64 by the words of the ONNX standard, for the operators that the
// export uses. Nodes must come after what they read.
func interpret(m *onnx.Model, feeds map[string]array) (map[string]array, error) {
	values := map[string]array{}
	for _, name := range m.Inputs {
		values[name] = feeds[name]
	}
	for _, t := range m.Tensors {
		values[t.Name] = array{t.Dims, t.Values}
	}
	for i := range m.Nodes {
		node := &m.Nodes[i]
		var inputs []array
		for _, name := range node.Inputs {
			v, known := values[name]
			if name != "" && !known {
				return nil, fmt.Errorf("%s reads %s, which nothing before it makes", node.Name, name)
			}
			inputs = append(inputs, v)
		}
		operator := operatorOf(node)
		if operator == nil {
			return nil, fmt.Errorf("%s: no operator %s %s", node.Name, node.Domain, node.Operator)
		}
		results := operator(node.Attributes, inputs)
		if len(results) != len(node.Outputs) {
			return nil, fmt.Errorf("%s: %d results for %d names", node.Name, len(results), len(node.Outputs))
		}
		for j, name := range node.Outputs {
			if _, twice := values[name]; twice {
				return nil, fmt.Errorf("%s makes %s again", node.Name, name)
			}
			values[name] = results[j]
		}
	}
	return values, nil
}

type attributes = map[string]onnx.Attribute

// operatorOf computes a node; nil: the interpreter cannot. A function of one number is computed by
// its definition, which ONNX's own cases check too (package shaders).
func operatorOf(node *onnx.Node) func(a attributes, in []array) []array {
	if node.Domain != "" {
		return nil
	}
	for _, k := range pointwise.Scalars {
		if k.ONNX == node.Operator {
			return elementwise(k.Scalar.Value)
		}
	}
	return operators[node.Operator]
}

var operators = map[string]func(a attributes, in []array) []array{
	"Conv": one(convolve), "ConvTranspose": one(convolveTransposed), "Resize": one(resize),
	"MaxPool": one(func(a attributes, in []array) array {
		return pooled(a, in[0], math.Inf(-1), func(sum, v float64) float64 { return max(sum, v) }, func(sum float64, _ int) float64 { return sum })
	}),
	"AveragePool": one(func(a attributes, in []array) array {
		return pooled(a, in[0], 0, func(sum, v float64) float64 { return sum + v }, func(sum float64, n int) float64 { return sum / float64(n) })
	}),
	"Clip": one(func(_ attributes, in []array) array {
		out := newArray(in[0].shape...)
		for i, x := range in[0].values {
			out.values[i] = min(max(x, in[1].values[0]), in[2].values[0])
		}
		return out
	}),
	"Erf":       elementwise(math.Erf),
	"Log":       elementwise(math.Log),
	"Add":       broadcasting(func(x, y float64) float64 { return x + y }),
	"Mul":       broadcasting(func(x, y float64) float64 { return x * y }),
	"Div":       broadcasting(func(x, y float64) float64 { return x / y }),
	"Min":       broadcasting(func(x, y float64) float64 { return min(x, y) }),
	"Max":       broadcasting(func(x, y float64) float64 { return max(x, y) }),
	"MatMul":    one(multiply),
	"Transpose": one(transpose),
	"Reshape": one(func(_ attributes, in []array) array {
		out := newArray()
		for _, d := range in[1].values {
			out.shape = append(out.shape, int(d))
		}
		if len(newArray(out.shape...).values) != len(in[0].values) {
			panic(fmt.Sprintf("Reshape: %v to %v", in[0].shape, out.shape))
		}
		out.values = in[0].values
		return out
	}),
	"Concat": one(concat), "Split": split,
	"Softmax": rows(func(row []float64) {
		highest, total := math.Inf(-1), 0.0
		for _, v := range row {
			highest = max(highest, v)
		}
		for i, v := range row {
			row[i] = math.Exp(v - highest)
			total += row[i]
		}
		for i := range row {
			row[i] /= total
		}
	}),
	"LayerNormalization": one(layerNormalization),
}

func one(f func(a attributes, in []array) array) func(attributes, []array) []array {
	return func(a attributes, in []array) []array { return []array{f(a, in)} }
}

func elementwise(f func(float64) float64) func(attributes, []array) []array {
	return one(func(_ attributes, in []array) array {
		out := newArray(in[0].shape...)
		for i, x := range in[0].values {
			out.values[i] = f(x)
		}
		return out
	})
}

// broadcasting aligns shapes at their last axes.
func broadcasting(f func(x, y float64) float64) func(attributes, []array) []array {
	return one(func(_ attributes, in []array) array {
		out := newArray(broadcast(in[0].shape, in[1].shape)...)
		out.each(func(i int, index []int) {
			out.values[i] = f(in[0].values[in[0].under(index)], in[1].values[in[1].under(index)])
		})
		return out
	})
}

func broadcast(x, y []int) []int {
	if len(x) < len(y) {
		x, y = y, x
	}
	shape := append([]int(nil), x...)
	for i, n := range y {
		at := len(x) - len(y) + i
		if n != 1 && shape[at] != 1 && n != shape[at] {
			panic(fmt.Sprintf("%v and %v do not broadcast", x, y))
		}
		shape[at] = max(shape[at], n)
	}
	return shape
}

// under is the element of a at an index of a larger shape that a is broadcast to.
func (a array) under(index []int) int {
	n := 0
	for axis, d := range a.shape {
		i := index[len(index)-len(a.shape)+axis]
		if d == 1 {
			i = 0
		}
		n = n*d + i
	}
	return n
}

func pads(a attributes) (top, left int) {
	if p := a["pads"].Ints; p != nil {
		return p[0], p[1]
	}
	return 0, 0
}

// extent is that of axis 0 or 1 of the result of a window over n.
func extent(a attributes, n, axis int) int {
	padding := 0
	if p := a["pads"].Ints; p != nil {
		padding = p[axis] + p[axis+2]
	}
	return (n+padding-a["kernel_shape"].Ints[axis])/a["strides"].Ints[axis] + 1
}

// window calls f with each tap (t, s) of output (y, x) that lies in an image h × w, and the pixel
// there.
func window(a attributes, y, x, h, w int, f func(t, s, row, column int)) {
	top, left := pads(a)
	kernel, strides := a["kernel_shape"].Ints, a["strides"].Ints
	for t := range kernel[0] {
		for s := range kernel[1] {
			row, column := y*strides[0]-top+t, x*strides[1]-left+s
			if row >= 0 && row < h && column >= 0 && column < w {
				f(t, s, row, column)
			}
		}
	}
}

func convolve(a attributes, in []array) array {
	x, w := in[0], in[1]
	height, width := x.shape[2], x.shape[3]
	out := newArray(x.shape[0], w.shape[0], extent(a, height, 0), extent(a, width, 1))
	inputs, outputs := w.shape[1], w.shape[0]/a["group"].Int
	out.each(func(i int, at []int) {
		if len(in) > 2 {
			out.values[i] = in[2].values[at[1]]
		}
		first := at[1] / outputs * inputs
		window(a, at[2], at[3], height, width, func(t, s, row, column int) {
			for c := range inputs {
				out.values[i] += x.values[x.at(at[0], first+c, row, column)] * w.values[w.at(at[1], c, t, s)]
			}
		})
	})
	return out
}

// convolveTransposed adds, for every input pixel, the weights times it to the window that begins at
// the pixel times the stride.
func convolveTransposed(a attributes, in []array) array {
	x, w := in[0], in[1]
	kernel, strides := a["kernel_shape"].Ints, a["strides"].Ints
	out := newArray(x.shape[0], w.shape[1], (x.shape[2]-1)*strides[0]+kernel[0], (x.shape[3]-1)*strides[1]+kernel[1])
	out.each(func(i int, at []int) { out.values[i] = in[2].values[at[1]] })
	x.each(func(i int, at []int) {
		for n := range w.shape[1] {
			for t := range kernel[0] {
				for s := range kernel[1] {
					to := out.at(at[0], n, at[2]*strides[0]+t, at[3]*strides[1]+s)
					out.values[to] += x.values[i] * w.values[w.at(at[1], n, t, s)]
				}
			}
		}
	})
	return out
}

func pooled(a attributes, x array, start float64, add func(sum, v float64) float64, end func(sum float64, n int) float64) array {
	out := newArray(x.shape[0], x.shape[1], extent(a, x.shape[2], 0), extent(a, x.shape[3], 1))
	out.each(func(i int, at []int) {
		sum, n := start, 0
		window(a, at[2], at[3], x.shape[2], x.shape[3], func(_, _, row, column int) {
			sum, n = add(sum, x.values[x.at(at[0], at[1], row, column)]), n+1
		})
		out.values[i] = end(sum, n)
	})
	return out
}

// resize is linear with half-pixel positions, by the scales in its third input; the edges are
// clamped.
func resize(a attributes, in []array) array {
	if a["mode"].String != "linear" || a["coordinate_transformation_mode"].String != "half_pixel" {
		panic(fmt.Sprintf("Resize: %+v", a))
	}
	x, scales := in[0], in[2].values
	out := newArray(x.shape[0], x.shape[1], int(float64(x.shape[2])*scales[2]), int(float64(x.shape[3])*scales[3]))
	taps := func(o, axis int) (low, high int, f float64) {
		last := float64(x.shape[axis] - 1)
		position := min(max((float64(o)+0.5)/scales[axis]-0.5, 0), last)
		low = int(position)
		return low, min(low+1, int(last)), position - float64(low)
	}
	out.each(func(i int, at []int) {
		y0, y1, fy := taps(at[2], 2)
		x0, x1, fx := taps(at[3], 3)
		pixel := func(row, column int) float64 { return x.values[x.at(at[0], at[1], row, column)] }
		out.values[i] = (1-fy)*((1-fx)*pixel(y0, x0)+fx*pixel(y0, x1)) + fy*((1-fx)*pixel(y1, x0)+fx*pixel(y1, x1))
	})
	return out
}

func multiply(_ attributes, in []array) array {
	x, y := in[0], in[1]
	r, q := len(x.shape)-2, len(y.shape)-2
	n, k, m := x.shape[r], x.shape[r+1], y.shape[q+1]
	batch := array{shape: broadcast(x.shape[:r], y.shape[:q])}
	out := newArray(append(append([]int(nil), batch.shape...), n, m)...)
	batch = newArray(batch.shape...)
	left, right := array{shape: x.shape[:r]}, array{shape: y.shape[:q]}
	batch.each(func(b int, index []int) {
		fromX, fromY, to := left.under(index)*n*k, right.under(index)*k*m, b*n*m
		for i := range n {
			for c := range k {
				for j := range m {
					out.values[to+i*m+j] += x.values[fromX+i*k+c] * y.values[fromY+c*m+j]
				}
			}
		}
	})
	return out
}

func transpose(a attributes, in []array) array {
	x, order := in[0], a["perm"].Ints
	shape, from := make([]int, len(order)), make([]int, len(order))
	for i, axis := range order {
		shape[i] = x.shape[axis]
	}
	out := newArray(shape...)
	out.each(func(i int, index []int) {
		for j, axis := range order {
			from[axis] = index[j]
		}
		out.values[i] = x.values[x.at(from...)]
	})
	return out
}

func concat(a attributes, in []array) array {
	axis := a["axis"].Int
	shape := append([]int(nil), in[0].shape...)
	for _, x := range in[1:] {
		shape[axis] += x.shape[axis]
	}
	out := newArray(shape...)
	begin := 0
	for _, x := range in {
		x.each(func(i int, index []int) {
			index[axis] += begin
			out.values[out.at(index...)] = x.values[i]
		})
		begin += x.shape[axis]
	}
	return out
}

func split(a attributes, in []array) (out []array) {
	axis, begin := a["axis"].Int, 0
	for _, size := range in[1].values {
		shape := append([]int(nil), in[0].shape...)
		shape[axis] = int(size)
		piece := newArray(shape...)
		piece.each(func(i int, index []int) {
			index[axis] += begin
			piece.values[i] = in[0].values[in[0].at(index...)]
		})
		begin += int(size)
		out = append(out, piece)
	}
	return out
}

// rows works on a copy of each row of the last axis.
func rows(f func(row []float64)) func(attributes, []array) []array {
	return one(func(a attributes, in []array) array {
		if a["axis"].Int != -1 {
			panic(fmt.Sprintf("axis %d", a["axis"].Int))
		}
		out := newArray(in[0].shape...)
		copy(out.values, in[0].values)
		n := out.shape[len(out.shape)-1]
		for i := 0; i < len(out.values); i += n {
			f(out.values[i : i+n])
		}
		return out
	})
}

func layerNormalization(a attributes, in []array) array {
	return rows(func(row []float64) {
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		for i, v := range row {
			row[i] = (v-mean)/math.Sqrt(variance+a["epsilon"].Float)*in[1].values[i] + in[2].values[i]
		}
	})(a, in)[0]
}
