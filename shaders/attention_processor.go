package shaders

import (
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// A piece of attention on the processor is one head of one image with some of its queries, or some of
// its keys. It packs what it multiplies by, so that pieces have nothing to wait for.
const (
	pieceQueries = 512
	pieceKeys    = 256
)

// attentionHead is one head of one image.
type attentionHead struct {
	*attentionParams
	image, head int
}

// pieces calls f for each head and each run of at most so many of all tokens.
func (p *attentionParams) pieces(split gpu.Split, tokens, most int, f func(h attentionHead, first, count int)) {
	runs, heads := ceil(tokens, most), int(p.Heads)
	split(int(p.Batch)*heads*runs, func(from, to int) {
		for i := from; i < to; i++ {
			run, head, image := i%runs, i/runs%heads, i/runs/heads
			f(attentionHead{p, image, head}, run*most, min(most, tokens-run*most))
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

// packRows makes of count rows, stride elements apart, a matrix (count, width).
func (h *attentionHead) packRows(to *vector.Matrix, count int, x []float32, stride int) {
	to.Reset(count, int(h.Width))
	for panel := range to.Panels() {
		to.Pack(panel, 0, count, x, stride)
	}
}

// packColumns makes of count rows, stride elements apart, a matrix (width, count).
func (h *attentionHead) packColumns(to *vector.Matrix, count int, x []float32, stride int) {
	to.Reset(int(h.Width), count)
	for panel := range to.Panels() {
		to.PackTransposed(panel, x, stride)
	}
}

// attentionForwardFast computes the scores of some queries as a matrix product, their exponentials, and
// the values so weighted as another product.
func attentionForwardFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	rows := vector.Rows()
	p.pieces(split, int(p.Queries), pieceQueries, func(h attentionHead, from, count int) {
		room, more := takeRoom(), takeRoom()
		defer room.leave()
		defer more.leave()
		keys := int(p.Keys)
		h.packColumns(&room.matrix, keys, h.keys(a[1].F, 0), 2*h.stride())
		h.packRows(&more.matrix, keys, h.values(a[1].F, 0), 2*h.stride())
		for first := from; first < from+count; first += rows {
			h.attend(first, min(rows, from+count-first), &room.matrix, &more.matrix, room, a)
		}
	})
}

// attend computes some queries.
func (h *attentionHead) attend(first, count int, keys, values *vector.Matrix, room *room, a []gpu.Array32) {
	q, y, logSumExp := h.queries(a[0].F, first), h.queries(a[2].F, first), a[3].F
	scores, sums := roomFor(&room.rows, count*keys.Stride()), roomFor(&room.sums, count*values.Stride())
	keys.Multiply(count, q, h.stride(), 1, scores, keys.Stride(), false)
	for row := range count {
		scores := scores[row*keys.Stride():][:h.Keys]
		highest := vector.Max(scores)
		vector.Exp(scores, h.Scale, -h.Scale*highest)
		total := vector.Sum(scores)
		logSumExp[h.row(first+row)] = float32((float64(h.Scale*highest) + math.Log(float64(total))) * math.Log2E)
	}
	values.Multiply(count, scores, keys.Stride(), 1, sums, values.Stride(), false)
	for row := range count {
		total := vector.Sum(scores[row*keys.Stride():][:h.Keys])
		to := y[row*h.stride():][:h.Width]
		for c, sum := range sums[row*values.Stride():][:h.Width] {
			to[c] = sum / total
		}
	}
}

// attentionGradients is what the gradients of one head start from.
type attentionGradients struct {
	attentionHead
	q, kv, dy, lse, delta []float32
	keys, values          *vector.Matrix // (width, keys) of the piece
}

// newAttentionGradients packs the keys and values from a key on.
func newAttentionGradients(h attentionHead, a []gpu.Array32, first, count int, keys, values *room) *attentionGradients {
	g := &attentionGradients{h, a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, &keys.matrix, &values.matrix}
	h.packColumns(g.keys, count, h.keys(g.kv, first), 2*h.stride())
	h.packColumns(g.values, count, h.values(g.kv, first), 2*h.stride())
	return g
}

// weights gives, for some queries and the keys, the weights of the forward pass and the gradients of
// the scores, both (count, keys.Stride()), in room.
func (g *attentionGradients) weights(first, count int, room *room) (w, ds []float32) {
	stride := g.keys.Stride()
	w, ds = roomFor(&room.rows, count*stride), roomFor(&room.sums, count*stride)
	g.keys.Multiply(count, g.queries(g.q, first), g.attentionHead.stride(), 1, w, stride, false)
	g.values.Multiply(count, g.queries(g.dy, first), g.attentionHead.stride(), 1, ds, stride, false)
	for row := range count {
		w, ds, i := w[row*stride:][:stride], ds[row*stride:][:stride], g.row(first+row)
		vector.Exp(w, g.Scale, -g.lse[i]*math.Ln2)
		vector.SoftmaxGradient(ds, w, g.delta[i], g.Scale)
	}
	return w, ds
}

// attentionBackwardQFast adds to dq the gradients of the scores times the keys.
func attentionBackwardQFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	rows := vector.Rows()
	p.pieces(split, int(p.Queries), pieceQueries, func(h attentionHead, from, count int) {
		transposed, values, room := takeRoom(), takeRoom(), takeRoom()
		defer transposed.leave()
		defer values.leave()
		defer room.leave()
		g, keys := newAttentionGradients(h, a, 0, int(p.Keys), transposed, values), &room.matrix
		h.packRows(keys, int(p.Keys), h.keys(g.kv, 0), 2*h.stride())
		for first := from; first < from+count; first += rows {
			n := min(rows, from+count-first)
			_, ds := g.weights(first, n, room)
			sums := roomFor(&values.sums, n*keys.Stride())
			keys.Multiply(n, ds, g.keys.Stride(), 1, sums, keys.Stride(), false)
			for row := range n {
				vector.Add(h.queries(a[5].F, first+row)[:h.Width], sums[row*keys.Stride():][:h.Width])
			}
		}
	})
}

// attentionBackwardKVFast adds to the keys' gradient those of the scores, transposed, times the
// queries, and to the values' the weights, transposed, times dy.
func attentionBackwardKVFast(p *attentionParams, a []gpu.Array32, split gpu.Split) {
	rows := vector.Rows()
	p.pieces(split, int(p.Keys), pieceKeys, func(h attentionHead, from, count int) {
		keys, values, room := takeRoom(), takeRoom(), takeRoom()
		defer keys.leave()
		defer values.leave()
		defer room.leave()
		g, right := newAttentionGradients(h, a, from, count, keys, values), &room.matrix
		right.Reset(rows, int(h.Width))
		width := right.Stride()
		dk, dv := roomFor(&keys.sums, count*width), roomFor(&values.sums, count*width)
		clear(dk)
		clear(dv)
		for first := 0; first < int(p.Queries); first += rows {
			n := min(rows, int(p.Queries)-first)
			w, ds := g.weights(first, n, room)
			h.packRows(right, n, h.queries(g.q, first), h.stride())
			right.Multiply(count, ds, 1, g.keys.Stride(), dk, width, true)
			h.packRows(right, n, h.queries(g.dy, first), h.stride())
			right.Multiply(count, w, 1, g.keys.Stride(), dv, width, true)
		}
		for i := range count {
			vector.Add(h.keys(a[5].F, from+i)[:h.Width], dk[i*width:][:h.Width])
			vector.Add(h.values(a[5].F, from+i)[:h.Width], dv[i*width:][:h.Width])
		}
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
