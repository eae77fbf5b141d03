package attention

import (
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// attentionInt8 takes q and kv in int8, and y in floats. It loads a quarter of the bytes that
// attentionForward loads. Products, softmax and sums are in floats: in whole numbers they would
// cost lavapipe more.
var attentionInt8 = &tensor.Kernel{
	Name: "attention_int8", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
	Body: tensor.Body(func(p *Params, a []gpu.Array) {
		inFloats(p, a, func(floats []gpu.Array) { attentionForward.Body(p, floats) })
	}),
	Fast: tensor.Fast(attentionInt8Fast),
	Variants: []tensor.Variant{
		ofInt8(attentionForwardQueries.inLanes(attentionInt8Quads)),
		ofInt8(attentionForwardQueries.tiles(attentionInt8Quads)),
	},
}

// ofInt8 turns a variant of attentionForward into a variant of attentionInt8.
func ofInt8(v tensor.Variant) tensor.Variant {
	v.Entry, v.Prefers = "attention_forward", nil
	return v
}

// inFloats calls forward with the arguments of attentionForward, and multiplies its result by the
// step of the values.
func inFloats[F gpu.Float](p *Params, a []gpu.ArrayOf[F], forward func(floats []gpu.ArrayOf[F])) {
	rows := int(attentionAllRows(p))
	y := a[2].F[:rows*int(p.Width)]
	floats := func(q []int8) gpu.ArrayOf[F] {
		f := make([]F, len(q))
		for i, v := range q {
			f[i] = F(v)
		}
		return gpu.ArrayOf[F]{F: f}
	}
	forward([]gpu.ArrayOf[F]{floats(a[0].B), floats(a[1].B), {F: y}, {F: make([]F, rows)}})
	for i := range y {
		y[i] *= F(p.ValueStep)
	}
}

var attentionInt8Kind = kernels.Operator(tensor.Kind{Name: "AttentionInt8"}, attentionInt8, nil)

// OfInt8 is Attention of queries, keys and values in int8. The channels of a head are a multiple of
// four. The keys have the step keyStep and the values the step valueStep; kv.Step is ignored. No
// gradient passes.
func OfInt8(q, kv pointwise.Quantized, keyStep, valueStep float32, heads int) *tensor.Tensor {
	kernels.RequireShape("Attention", "q", q.Q, -1, -1, -1)
	kernels.RequireShape("Attention", "kv", kv.Q, q.Q.Dim(0), -1, 2*q.Channels)
	if heads < 1 || q.Channels%(4*heads) != 0 || q.Channels/heads > 64 {
		panic(fmt.Sprintf("Attention: %v does not divide into %d heads of at most 64 channels, in fours", q.Q, heads))
	}
	width := q.Channels / heads
	p := &Params{
		Batch: uint32(q.Q.Dim(0)), Queries: uint32(q.Q.Dim(1)), Keys: uint32(kv.Q.Dim(1)), Heads: uint32(heads), Width: uint32(width),
		Scale: float32(float64(q.Step*keyStep) / math.Sqrt(float64(width))), ValueStep: valueStep,
	}
	y := q.Q.Graph().New("attention", q.Q.Shape())
	q.Q.Graph().Append(attentionInt8Kind, p, []*tensor.Tensor{y}, q.Q, kv.Q)
	return y
}
