package nn

import (
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// Linear maps the last extent of x to out, Xavier-initialised.
func (b *Builder) Linear(name string, x *tensor.Tensor, out int, bias bool) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	w := b.parameter(name+".weight", Xavier(x.Dim(-1), out), x.Dim(-1), out)
	return conv.Linear(x, w, b.bias(name, out, bias))
}

// MLP is a linear map, GELU and a linear map, all of x's width.
func (b *Builder) MLP(name string, x *tensor.Tensor) *tensor.Tensor {
	return b.Linear(name+".2", pointwise.GELU(b.Linear(name+".0", x, x.Dim(-1), true)), x.Dim(-1), true)
}

// Attention is multi-head attention without its output projection. The pixels of q (B, H, W, ·)
// attend to those of context (B, ·, ·, ·). Queries and keys know their positions, values do not;
// keys is the context with its positions. The result is (B, H, W, width).
func (b *Builder) Attention(name string, q, keys, context *tensor.Tensor, width, heads int) *tensor.Tensor {
	queries := b.Linear(name+".query", b.Placed(q), width, true)
	key, value := b.Linear(name+".key", keys, width, false), b.Linear(name+".value", context, width, true)
	defer b.Graph.Layered(name)()
	return attention.Attention(tokens(queries), tokens(pointwise.Concat(key, value)), heads).Reshape(queries.Shape()...)
}

// tokens sees a map (B, H, W, C) as (B, H·W, C).
func tokens(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(x.Dim(0), x.Dim(1)*x.Dim(2), x.Dim(3)) }

// Placed adds the fixed 2-D sine–cosine encoding of the pixels' positions to a map x (B, H, W,
// C).
func (b *Builder) Placed(x *tensor.Tensor) *tensor.Tensor {
	h, w, c := x.Dim(1), x.Dim(2), x.Dim(3)
	for _, table := range b.positions {
		if table.Dim(1) == h && table.Dim(2) == w && table.Dim(3) == c {
			return pointwise.AddBroadcast(x, table)
		}
	}
	table := b.Graph.Constant("positions", attention.PositionEncoding(h, w, c), 1, h, w, c)
	b.positions = append(b.positions, table)
	return pointwise.AddBroadcast(x, table)
}
