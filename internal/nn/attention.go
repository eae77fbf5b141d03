package nn

import (
	"mrprism/internal/tensor"
	"mrprism/shaders"
)

// Placed is a map X (B, H, W, C) and the positions E (1, H, W, C) of its pixels, which are yet to be added to it.
type Placed struct{ X, E *tensor.Tensor }

// Attention is multi-head attention of queries q (B, H, W, width) without its output projection, over pixels as tokens: of q's shape. Queries
// and keys know their positions, values do not. The share of the positions in a linear map of x + e is computed apart: without training it
// depends on parameters alone, and adding it to the result costs the map of x no dispatch. Where the ranges of queries, keys and values are
// known, their maps end in int8.
func (b *Builder) Attention(name string, q *tensor.Tensor, context Placed, heads int) *tensor.Tensor {
	width := q.Dim(-1)
	steps, int8 := b.attentionSteps(name, width/heads)
	kv := b.keysAndValues(name, context, width, steps)
	if !int8 {
		return shaders.Attention(tokens(q), tokens(kv), heads).Reshape(q.Shape()...)
	}
	attended := shaders.Quantize(tokens(q), steps.queries).Attention(shaders.Quantize(tokens(kv), 1), steps.keys, steps.values, heads)
	return attended.Reshape(q.Shape()...)
}

// tokens sees a map (B, H, W, C) as (B, H·W, C).
func tokens(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(x.Dim(0), x.Dim(1)*x.Dim(2), x.Dim(3)) }

// attentionSteps are what steps of int8 are worth.
type attentionSteps struct{ queries, keys, values float32 }

// attentionSteps says whether attention with heads of a width is to be in int8; if not, all are 1.
func (b *Builder) attentionSteps(name string, width int) (steps attentionSteps, int8 bool) {
	if b.Training || !b.attentionRanges(name) || width%4 != 0 {
		return attentionSteps{1, 1, 1}, false
	}
	return attentionSteps{b.Ranges[name+".queries"] / 127, b.Ranges[name+".keys"] / 127, b.Ranges[name+".values"] / 127}, true
}

// attentionRanges says whether all that int8 attention needs is known.
func (b *Builder) attentionRanges(name string) bool {
	return b.Ranges[name+".queries"] > 0 && b.Ranges[name+".keys"] > 0 && b.Ranges[name+".values"] > 0
}

// told tells Inputs, if it is there, of a tensor that attention can take in int8.
func (b *Builder) told(name string, x *tensor.Tensor) *tensor.Tensor {
	if b.Inputs != nil && !b.Training {
		b.Inputs(name, x)
	}
	return x
}

// projected is a linear map of a map whose result can be rounded, but for the table, in int8 where the range of what it is given is known.
func (b *Builder) projected(name string, l linear) *tensor.Tensor {
	in, out := l.weight.Dim(0), l.weight.Dim(1)
	if q, ok := b.inInt8(name, l.x, out); ok {
		return q.Conv2D(l.weight.Reshape(1, 1, in, out), l.bias, shaders.Square(1, 0))
	}
	return shaders.Linear(l.x, shaders.Like(l.x, l.weight), shaders.Like(l.x, l.bias))
}

// Queries are, for Attention, the linear map NAME.query of x and its positions: (…, width).
//
// Beside is what else a linear map makes of x, or of what x is made of by one; or nil. At inference in floats one dispatch computes both: what
// it makes takes the place of beside.
func (b *Builder) Queries(name string, x *tensor.Tensor, width int, beside *tensor.Tensor) (queries, besides *tensor.Tensor) {
	in := x.Dim(-1)
	weight := b.parameter(name+".query.weight", xavier(in, width), in, width)
	l := b.folded(linear{x, weight, b.bias(name+".query", width, true), shaders.Linear(b.Positions(x), weight, nil)})
	other, ok := b.made[beside]
	if b.Training || b.Inputs != nil || b.attentionRanges(name) || !ok || other.x != l.x {
		return b.told(name+".queries", b.AddBroadcast(b.projected(name+".query", l), l.table)), beside
	}
	both := b.beside(l, other)
	return shaders.Split(b.AddBroadcast(shaders.Linear(both.x, both.weight, both.bias), both.table), width)
}

// keysAndValues are, side by side (…, 2·width), in steps, the linear map NAME.key of x + e, without bias, and NAME.value of x.
func (b *Builder) keysAndValues(name string, x Placed, width int, steps attentionSteps) *tensor.Tensor {
	in := x.X.Dim(-1)
	key := b.parameter(name+".key.weight", xavier(in, width), in, width)
	value := b.parameter(name+".value.weight", xavier(in, width), in, width)
	bias := b.bias(name+".value", width, true)
	if b.Inputs != nil && !b.Training {
		b.told(name+".keys", b.AddBroadcast(shaders.Linear(x.X, key, nil), shaders.Linear(x.E, key, nil)))
		b.told(name+".values", shaders.Linear(x.X, value, bias))
	}
	key, value, bias = inSteps(key, steps.keys), inSteps(value, steps.values), inSteps(bias, steps.values)
	both := b.beside(linear{x.X, key, nil, shaders.Linear(x.E, key, nil)}, linear{x: x.X, weight: value, bias: bias})
	return b.AddBroadcast(b.projected(name+".key", both), both.table)
}

// inSteps is a parameter divided by what a step is worth.
func inSteps(x *tensor.Tensor, step float32) *tensor.Tensor {
	if step == 1 {
		return x
	}
	return shaders.Scale(x, 1/step)
}
