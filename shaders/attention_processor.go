package shaders

import (
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// The processor computes attention in panels: as many queries, or keys, as a vector.Matrix has
// columns in a panel, side by side, and all keys, or queries, below each other. Every product then
// fills its vectors, however narrow a head is. A piece is a few panels of one head of one image.
const piecePanels = 4

// attentionHead is one head of one image.
type attentionHead struct {
	*attentionParams
	image, head int
}

// panels calls f for each head and each run of tokens that makes a panel, or fewer.
func (p *attentionParams) panels(split gpu.Split, tokens int, f func(h attentionHead, first, count int)) {
	width, heads := vector.Columns(), int(p.Heads)
	runs := ceil(tokens, piecePanels*width)
	split(int(p.Batch)*heads*runs, func(from, to int) {
		for i := from; i < to; i++ {
			run, head, image := i%runs, i/runs%heads, i/runs/heads
			end := min((run+1)*piecePanels*width, tokens)
			for first := run * piecePanels * width; first < end; first += width {
				f(attentionHead{p, image, head}, first, min(width, end-first))
			}
		}
	})
}

// stride is from a query's channels to the next one's; a key's are twice as far apart.
func (h *attentionHead) stride() int { return int(h.Heads * h.Width) }

// row is where a query lies among those of all images and heads, in q, y, lse and delta.
func (h *attentionHead) row(query int) int {
	return (h.image*int(h.Queries)+query)*int(h.Heads) + h.head
}

// queries are the channels of q, y or their gradients from a query on.
func (h *attentionHead) queries(x []float32, first int) []float32 {
	return x[h.row(first)*int(h.Width):]
}

// keys and values are the channels of those, or of their gradients, from a key on.
func (h *attentionHead) keys(kv []float32, first int) []float32 {
	return kv[((h.image*int(h.Keys)+first)*2*int(h.Heads)+h.head)*int(h.Width):]
}

func (h *attentionHead) values(kv []float32, first int) []float32 {
	return h.keys(kv, first)[h.stride():]
}

// sideBySide packs tokens, stride elements apart, as the columns of a panel (width, count).
func (h *attentionHead) sideBySide(to *vector.Matrix, count int, x []float32, stride int) {
	to.Reset(int(h.Width), count)
	to.PackTransposed(0, x, stride)
}

// addBack adds a panel (width, count) to tokens, stride elements apart.
func (h *attentionHead) addBack(to []float32, stride, count int, panel []float32) {
	vector.Transpose(to, stride, panel, vector.Columns(), int(h.Width), count, true)
}

// attentionForwardFast computes the scores of a panel of queries as a matrix product, their
// exponentials, and the values so weighted as another product.
func attentionForwardFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	p.panels(split, int(p.Queries), func(h attentionHead, first, count int) {
		room := takeRoom()
		defer room.leave()
		h.attend(first, count, room, a)
	})
}

// attend computes a panel of queries.
func (h *attentionHead) attend(first, count int, room *room, a []gpu.Array32) {
	kv, y, logSumExp := a[1].F, h.queries(a[2].F, first), a[3].F
	columns, keys, width := vector.Columns(), int(h.Keys), int(h.Width)
	var highest, shift, total [vector.MaxColumns]float32
	h.sideBySide(&room.matrix, count, h.queries(a[0].F, first), h.stride())
	scores := roomFor(&room.rows, keys*columns)
	room.matrix.Multiply(keys, h.keys(kv, 0), 2*h.stride(), 1, scores, columns, false)
	vector.MaxOfColumns(highest[:columns], scores)
	for i, v := range highest {
		shift[i] = -h.Scale * v
	}
	vector.ExpColumns(scores, h.Scale, shift[:columns], total[:columns])
	sums := roomFor(&room.sums, width*columns)
	room.wrapped.Wrap(keys, scores)
	room.wrapped.Multiply(width, h.values(kv, 0), 1, 2*h.stride(), sums, columns, false)
	var inverse [vector.MaxColumns]float32
	for i, v := range total[:columns] {
		inverse[i] = 1 / v
	}
	for c := range width {
		vector.Multiply(sums[c*columns:][:columns], inverse[:columns])
	}
	vector.Log(total[:columns])
	for i := range count {
		logSumExp[h.row(first+i)] = (h.Scale*highest[i] + total[i]) * math.Log2E
	}
	vector.Transpose(y, h.stride(), sums, columns, width, count, false)
}

// attentionBackwardQFast adds to dq the gradients of the scores times the keys, panel by panel of
// queries.
func attentionBackwardQFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	q, kv, dy, lse, delta, dq := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, a[5].F
	columns, keys, width := vector.Columns(), int(p.Keys), int(p.Width)
	p.panels(split, int(p.Queries), func(h attentionHead, first, count int) {
		room := takeRoom()
		defer room.leave()
		var shift, off, total [vector.MaxColumns]float32
		for i := range count {
			shift[i], off[i] = -lse[h.row(first+i)]*math.Ln2, delta[h.row(first+i)]
		}
		both := roomFor(&room.rows, 2*keys*columns)
		w, ds := both[:keys*columns], both[keys*columns:]
		h.sideBySide(&room.matrix, count, h.queries(q, first), h.stride())
		room.matrix.Multiply(keys, h.keys(kv, 0), 2*h.stride(), 1, w, columns, false)
		h.sideBySide(&room.matrix, count, h.queries(dy, first), h.stride())
		room.matrix.Multiply(keys, h.values(kv, 0), 2*h.stride(), 1, ds, columns, false)
		vector.ExpColumns(w, p.Scale, shift[:columns], total[:columns])
		vector.SoftmaxGradientColumns(ds, w, off[:columns], p.Scale)
		sums := roomFor(&room.sums, width*columns)
		room.wrapped.Wrap(keys, ds)
		room.wrapped.Multiply(width, h.keys(kv, 0), 1, 2*h.stride(), sums, columns, false)
		h.addBack(h.queries(dq, first), h.stride(), count, sums)
	})
}

// attentionBackwardKVFast adds to the keys' gradient those of the scores, transposed, times the
// queries, and to the values' the weights, transposed, times dy, panel by panel of keys.
func attentionBackwardKVFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	q, kv, dy, lse, delta, dkv := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, a[5].F
	columns, queries, width := vector.Columns(), int(p.Queries), int(p.Width)
	p.panels(split, int(p.Keys), func(h attentionHead, first, count int) {
		room, more := takeRoom(), takeRoom()
		defer room.leave()
		defer more.leave()
		h.sideBySide(&room.matrix, count, h.keys(kv, first), 2*h.stride())
		h.sideBySide(&more.matrix, count, h.values(kv, first), 2*h.stride())
		both := roomFor(&room.rows, 2*queries*columns)
		w, ds := both[:queries*columns], both[queries*columns:]
		room.matrix.Multiply(queries, h.queries(q, 0), h.stride(), 1, w, columns, false)
		more.matrix.Multiply(queries, h.queries(dy, 0), h.stride(), 1, ds, columns, false)
		shift := roomFor(&more.rows, queries)
		for i := range shift {
			shift[i] = -lse[h.row(i)] * math.Ln2
		}
		vector.ExpRows(w, p.Scale, shift)
		for i := range queries {
			vector.SoftmaxGradient(ds[i*columns:][:columns], w[i*columns:][:columns], delta[h.row(i)], p.Scale)
		}
		sums := roomFor(&room.sums, width*columns)
		room.wrapped.Wrap(queries, ds)
		room.wrapped.Multiply(width, h.queries(q, 0), 1, h.stride(), sums, columns, false)
		h.addBack(h.keys(dkv, first), 2*h.stride(), count, sums)
		room.wrapped.Wrap(queries, w)
		room.wrapped.Multiply(width, h.queries(dy, 0), 1, h.stride(), sums, columns, false)
		h.addBack(h.values(dkv, first), 2*h.stride(), count, sums)
	})
}

// attentionDeltaFast is Σ y dy of every query and head.
func attentionDeltaFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	width := int(p.Width)
	split(int(p.Batch*p.Queries*p.Heads), func(from, to int) {
		for i := from; i < to; i++ {
			a[2].F[i] = vector.Dot(a[0].F[i*width:][:width], a[1].F[i*width:][:width])
		}
	})
}
