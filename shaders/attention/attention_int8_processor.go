package attention

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// attentionInt8Fast computes panels of queries as attentionForwardFast does, but computes scores
// in whole numbers. Weights and sums of values are floats.
func attentionInt8Fast(p *Params, a []gpu.Array32, split gpu.Split) {
	shared := kernels.TakeRoom()
	defer shared.Leave()
	size := 0
	if vector.HasScores() {
		size, _ = vector.WordBytes()
	}
	kv := a[1].B
	words, floats := kernels.RoomFor(&shared.Bytes, len(kv)*size), kernels.RoomFor(&shared.Rows, len(kv))
	pairs := 2 * int(p.Heads*p.Width) // channels of keys and values
	split(len(kv)/pairs, func(from, to int) {
		from, to = from*pairs, to*pairs
		if size > 0 {
			vector.ToWords(words[from*size:to*size], kv[from:to])
		}
		vector.FloatsOf(floats[from:to], kv[from:to])
	})
	p.panels(split, int(p.Queries), func(h attentionHead, first, count int) {
		room := kernels.TakeRoom()
		defer room.Leave()
		h.attendInt8(first, count, a[0].B, words, floats, a[2].F, room)
	})
}

// attendInt8 computes a panel of queries. words, if there are any, and floats each hold the keys and
// values. Products of floats are whole too: they and their sums stay below 2²⁴.
func (h *attentionHead) attendInt8(first, count int, q []int8, words []byte, floats, y []float32, room *kernels.Room) {
	columns, keys, width, stride := vector.Columns(), int(h.Keys), int(h.Width), h.stride()
	queries := h.row(first) * width
	total, by, _ := room.OfColumns()
	scores := kernels.RoomFor(&room.Integers, keys*columns)
	if len(words) > 0 {
		size, _ := vector.WordBytes()
		room.Words.Reset(width, count)
		room.Words.PackTransposed(q[queries:], stride)
		room.Lines = vector.Lines{Lines: 1, Rows: keys, Row: 2 * stride * size, Parts: 1, Negative: true}
		at := (h.image*keys*2*int(h.Heads) + h.head) * width
		room.Words.Multiply(0, &room.Lines, words[at*size:], scores)
	} else {
		seen := kernels.RoomFor(&room.Seen, (count-1)*stride+width)
		vector.FloatsOf(seen, q[queries:])
		h.sideBySide(&room.Matrix, count, seen, stride)
		products := kernels.RoomFor(&room.Products, len(scores))
		room.Matrix.Multiply(keys, h.keys(floats, 0), 2*stride, 1, products, columns, false)
		for i, v := range products {
			scores[i] = int32(v)
		}
	}
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
