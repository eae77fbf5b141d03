package main

import (
	"fmt"
	"math"

	"mrprism/internal/format/onnx"
	"mrprism/shaders"
)

// parameters are the network's variables by name, with the shapes that package nn gives them: convolutions HWIO, linear maps
// (Cin, Cout).
type parameters map[string]parameter

type parameter struct {
	shape  []int
	values []float32
}

func (p parameters) get(name string) parameter {
	v, found := p[name]
	if !found {
		panic(fmt.Sprintf("export: the network has no variable %s", name)) // the weights were matched with the configuration
	}
	return v
}

// wide is a parameter's values as float64; nil where there is none of that name.
func (p parameters) wide(name string) []float64 {
	v, found := p[name]
	if !found {
		return nil
	}
	out := make([]float64, len(v.values))
	for i, x := range v.values {
		out[i] = float64(x)
	}
	return out
}

// conv is a convolution with the weight NAME.weight and, where there is one, NAME.bias.
func (n *network) conv(name string, x *onnx.Value, stride, pad int) *onnx.Value {
	return n.convolution(name, x, 0, stride, pad, n.weights.wide(name+".bias"), nil)
}

// convNorm is a convolution without bias and the batch normalisation after it, folded into one.
func (n *network) convNorm(name, norm string, x *onnx.Value, stride, pad int) *onnx.Value {
	scale, shift := n.norm(norm)
	return n.convolution(name, x, 0, stride, pad, shift, scale)
}

// norm is a batch normalisation as a scale and a shift: (y − mean) g + bias with g = weight / √(variance + ε).
func (n *network) norm(norm string) (scale, shift []float64) {
	scale, bias := n.weights.wide(norm+".weight"), n.weights.wide(norm+".bias")
	mean, variance := n.weights.wide(norm+".running_mean"), n.weights.wide(norm+".running_var")
	for c := range scale {
		scale[c] /= math.Sqrt(variance[c] + epsilon)
		bias[c] -= mean[c] * scale[c]
	}
	return scale, bias
}

// convolution is that of the input channels from `first` on, as many as x has. Its output channels are multiplied by factors, before the
// bias; nil: by 1.
func (n *network) convolution(name string, x *onnx.Value, first, stride, pad int, bias, factors []float64) *onnx.Value {
	shape := n.weights.get(name + ".weight").shape
	kh, kw, in, out := shape[0], shape[1], shape[2], shape[3]
	part := x.Dim(1)
	label := name + ".weight"
	if part < in {
		label = fmt.Sprintf("%s[%d:%d]", label, first, first+part)
	}
	weight := n.Constant(label, func() []float64 {
		all := rearranged(n.weights.wide(name+".weight"), shape, 3, 2, 0, 1)
		var w []float64
		for o := range out {
			for _, v := range all[(o*in+first)*kh*kw:][:part*kh*kw] {
				if factors != nil {
					v *= factors[o]
				}
				w = append(w, v)
			}
		}
		return w
	}, out, part, kh, kw)
	var b *onnx.Value
	if bias != nil {
		b = n.Constant(name+".bias", func() []float64 { return bias }, out)
	}
	return n.Conv(x, weight, b, stride, pad, 1)
}

// depthwise is a depthwise convolution with bias, padded by half its kernel.
func (n *network) depthwise(name string, x *onnx.Value, stride int) *onnx.Value {
	shape := n.weights.get(name + ".weight").shape // (kh, kw, C)
	c := shape[2]
	weight := n.Constant(name+".weight", func() []float64 {
		return rearranged(n.weights.wide(name+".weight"), shape, 2, 0, 1)
	}, c, 1, shape[0], shape[1])
	return n.Conv(x, weight, n.vector(name+".bias"), stride, shape[0]/2, c)
}

// up is a transposed convolution 2×2/2 with bias.
func (n *network) up(name string, x *onnx.Value) *onnx.Value {
	shape := n.weights.get(name + ".weight").shape // (2, 2, Cin, Cout)
	weight := n.Constant(name+".weight", func() []float64 {
		return rearranged(n.weights.wide(name+".weight"), shape, 2, 3, 0, 1)
	}, shape[2], shape[3], shape[0], shape[1])
	return n.ConvTranspose(x, weight, n.vector(name+".bias"))
}

// groupedLinear gives each group of a map's channels its own linear map, with bias: a grouped 1×1 convolution.
func (n *network) groupedLinear(name string, x *onnx.Value) *onnx.Value {
	shape := n.weights.get(name + ".weight").shape // (groups, in, out)
	groups, in, out := shape[0], shape[1], shape[2]
	weight := n.Constant(name+".weight", func() []float64 {
		return rearranged(n.weights.wide(name+".weight"), shape, 0, 2, 1)
	}, groups*out, in, 1, 1)
	bias := n.Constant(name+".bias", func() []float64 { return n.weights.wide(name + ".bias") }, groups*out)
	return n.Conv(x, weight, bias, 1, 0, groups)
}

// linear maps the channels of tokens x (1, N, Cin) to (1, N, Cout).
func (n *network) linear(name string, x *onnx.Value) *onnx.Value { return n.scaledLinear(name, x, 1) }

// scaledLinear is a linear map times a factor.
func (n *network) scaledLinear(name string, x *onnx.Value, factor float64) *onnx.Value {
	scaled := func(of string) func() []float64 {
		return func() []float64 {
			values := n.weights.wide(of)
			for i := range values {
				values[i] *= factor
			}
			return values
		}
	}
	shape := n.weights.get(name + ".weight").shape
	y := n.MatMul(x, n.Constant(name+".weight", scaled(name+".weight"), shape...))
	if _, biased := n.weights[name+".bias"]; biased {
		y = n.Add(y, n.Constant(name+".bias", scaled(name+".bias"), shape[1]))
	}
	return y
}

// mlp is two linear maps that keep the width, GELU between.
func (n *network) mlp(name string, x *onnx.Value) *onnx.Value {
	return n.linear(name+".2", n.Gelu(n.linear(name+".0", x)))
}

// layerNorm normalises the channels of tokens.
func (n *network) layerNorm(name string, x *onnx.Value) *onnx.Value {
	return n.LayerNormalization(x, n.vector(name+".weight"), n.vector(name+".bias"), epsilon)
}

func (n *network) vector(name string) *onnx.Value {
	return n.Constant(name, func() []float64 { return n.weights.wide(name) }, n.weights.get(name).shape...)
}

// tokens sees a map (1, C, H, W) as (1, H·W, C), plane the other way.
func tokens(n *network, x *onnx.Value) *onnx.Value {
	return n.Reshape(n.Transpose(x, 0, 2, 3, 1), 1, x.Dim(2)*x.Dim(3), x.Dim(1))
}

func plane(n *network, x *onnx.Value, height, width int) *onnx.Value {
	return n.Transpose(n.Reshape(x, 1, height, width, x.Dim(-1)), 0, 3, 1, 2)
}

// pooling is by how much keys and values of a map are average-pooled, so that there are at most MaxKeys.
func (n *network) pooling(height, width int) int {
	r := 1
	for ((height+r-1)/r)*((width+r-1)/r) > n.MaxKeys {
		r *= 2
	}
	return r
}

// keys are what attention looks at: x with its positions e for the keys, and without for the values, both pooled. x are the tokens
// of the map m. The mean of a sum is the sum of the means, so that the positions are pooled here and the map once.
func (n *network) keys(x, m, e *onnx.Value) (key, value *onnx.Value) {
	height, width, channels := m.Dim(2), m.Dim(3), m.Dim(1)
	if r := n.pooling(height, width); r > 1 {
		x = tokens(n, n.AveragePool(m, r))
		e = n.Constant(fmt.Sprintf("positions %d×%d×%d pooled by %d", height, width, channels, r), func() []float64 {
			return pooled(positions(height, width, channels), height, width, channels, r)
		}, x.Shape...)
	}
	return n.Add(x, e), x
}

// positions is the fixed encoding E of a map's tokens, (1, H·W, C).
func (n *network) positions(height, width, channels int) *onnx.Value {
	return n.Constant(fmt.Sprintf("positions %d×%d×%d", height, width, channels), func() []float64 {
		return positions(height, width, channels)
	}, 1, height*width, channels)
}

func positions(height, width, channels int) []float64 {
	table := shaders.PositionEncoding(height, width, channels)
	out := make([]float64, len(table))
	for i, v := range table {
		out[i] = float64(v)
	}
	return out
}

// pooled is the mean of each r×r window of a table (H, W, C), of what of the window lies in it.
func pooled(table []float64, height, width, channels, r int) []float64 {
	rows, columns := (height+r-1)/r, (width+r-1)/r
	out := make([]float64, rows*columns*channels)
	for y := range height {
		for x := range width {
			size := min(r, height-y/r*r) * min(r, width-x/r*r)
			for c := range channels {
				out[(y/r*columns+x/r)*channels+c] += table[(y*width+x)*channels+c] / float64(size)
			}
		}
	}
	return out
}

// attention is multi-head attention of tokens without its output projection. The factor d^-½ of the scores is in the query's
// weights, or in ONNX Runtime's operator.
func (n *network) attention(name string, query, key, value *onnx.Value, heads int) *onnx.Value {
	channels := n.weights.get(name + ".query.weight").shape[1]
	width := channels / heads
	if n.ownAttention {
		return n.MultiHeadAttention(n.linear(name+".query", query), n.linear(name+".key", key), n.linear(name+".value", value), heads)
	}
	q := n.scaledLinear(name+".query", query, 1/math.Sqrt(float64(width)))
	k := n.linear(name+".key", key)
	v := n.linear(name+".value", value)
	if heads == 1 {
		return n.MatMul(n.Softmax(n.MatMul(q, n.Transpose(k, 0, 2, 1))), v)
	}
	split := func(x *onnx.Value, order ...int) *onnx.Value { // (1, N, heads·d) to (1, heads, N, d), or the last two the other way round
		return n.Transpose(n.Reshape(x, 1, x.Dim(1), heads, width), order...)
	}
	weights := n.Softmax(n.MatMul(split(q, 0, 2, 1, 3), split(k, 0, 2, 3, 1)))
	attended := n.MatMul(weights, split(v, 0, 2, 1, 3))
	return n.Reshape(n.Transpose(attended, 0, 2, 1, 3), 1, query.Dim(1), channels)
}

// rearranged gives the values of a shape in another order of its axes.
func rearranged(values []float64, shape []int, order ...int) []float64 {
	strides := make([]int, len(shape))
	for i, step := len(shape)-1, 1; i >= 0; i-- {
		strides[i], step = step, step*shape[i]
	}
	out := make([]float64, 0, len(values))
	var visit func(axis, at int)
	visit = func(axis, at int) {
		if axis == len(order) {
			out = append(out, values[at])
			return
		}
		for i := range shape[order[axis]] {
			visit(axis+1, at+i*strides[order[axis]])
		}
	}
	visit(0, 0)
	return out
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}
