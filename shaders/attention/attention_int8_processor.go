package attention

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

func attentionInt8Fast(p *Params, a []gpu.Array32, split gpu.Split) {
	if vector.HasSoftmax() {
		attentionInt8Words(p, a, split)
	} else {
		inFloats(p, a, func(floats []gpu.Array32) { attentionForwardFast(p, floats, split) })
	}
}

// attentionInt8Words computes panels of queries as attentionForwardFast does, but computes scores
// in whole numbers. Weights and sums of values are floats.
func attentionInt8Words(p *Params, a []gpu.Array32, split gpu.Split) {
	shared := kernels.TakeRoom()
	defer shared.Leave()
	size, _ := vector.WordBytes()
	kv := a[1].B
	words, floats := kernels.RoomFor(&shared.Bytes, len(kv)*size), kernels.RoomFor(&shared.Rows, len(kv))
	pairs := 2 * int(p.Heads*p.Width) // channels of keys and values
	split(len(kv)/pairs, func(from, to int) {
		from, to = from*pairs, to*pairs
		vector.ToWords(words[from*size:to*size], kv[from:to])
		vector.FloatsOf(floats[from:to], kv[from:to])
	})
	p.panels(split, int(p.Queries), func(h attentionHead, first, count int) {
		room := kernels.TakeRoom()
		defer room.Leave()
		h.attendInt8(first, count, a[0].B, words, floats, a[2].F, room)
	})
}

// attendInt8 computes a panel of queries. words and floats each hold the keys and values.
func (h *attentionHead) attendInt8(first, count int, q []int8, words []byte, floats, y []float32, room *kernels.Room) {
	columns, keys, width, stride := vector.Columns(), int(h.Keys), int(h.Width), h.stride()
	size, _ := vector.WordBytes()
	queries := h.row(first) * width
	total, by, _ := room.OfColumns()
	room.Words.Reset(width, count)
	room.Words.PackTransposed(q[queries:], stride)
	scores := kernels.RoomFor(&room.Integers, keys*columns)
	room.Lines = vector.Lines{Lines: 1, Rows: keys, Row: 2 * stride * size, Parts: 1, Negative: true}
	at := (h.image*keys*2*int(h.Heads) + h.head) * width
	room.Words.Multiply(0, &room.Lines, words[at*size:], scores)
	weights := vector.SoftmaxColumns(scores, h.Scale, total)
	sums := kernels.RoomFor(&room.Sums, width*columns)
	room.Wrapped.Wrap(keys, weights)
	room.Wrapped.Multiply(width, h.values(floats, 0), 1, 2*stride, sums, columns, false)
	for i, v := range total {
		by[i] = h.ValueStep / v
	}
	for c := range width {
		vector.Multiply(sums[c*columns:][:columns], by)
	}
	vector.Transpose(y[queries:], stride, sums, columns, width, count, false)
}
