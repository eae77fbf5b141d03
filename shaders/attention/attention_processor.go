package attention

import (
	"math"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// The processor computes attention in panels. A panel has a column for each of some queries (or
// keys), as many as a panel of a vector.Matrix, and a row for each key (or query). Every product
// then fills its vectors, however narrow a head is. A piece of the work is a few panels of one head
// of one image.
const piecePanels = 4

// attentionHead is one head of one image.
type attentionHead struct {
	*Params
	image, head int
}

// panels calls f for each head and each run of tokens that fills a panel, or the rest of them.
func (p *Params) panels(split gpu.Split, tokens int, f func(h attentionHead, first, count int)) {
	width, heads := vector.Columns(), int(p.Heads)
	runs := kernels.Ceil(tokens, piecePanels*width)
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

// stride is the distance between neighbouring queries. Neighbouring keys lie twice as far apart.
func (h *attentionHead) stride() int { return int(h.Heads * h.Width) }

// row is the row of a query, among those of all images and heads, in q, y, lse and delta.
func (h *attentionHead) row(query int) int {
	return (h.image*int(h.Queries)+query)*int(h.Heads) + h.head
}

// queries are the elements of x (q, y or their gradients) from this head's channels of a query on.
func (h *attentionHead) queries(x []float32, first int) []float32 {
	return x[h.row(first)*int(h.Width):]
}

// keys and values are the elements of kv, or its gradient, from this head's key or value on.
func (h *attentionHead) keys(kv []float32, first int) []float32 {
	return kv[((h.image*int(h.Keys)+first)*2*int(h.Heads)+h.head)*int(h.Width):]
}

func (h *attentionHead) values(kv []float32, first int) []float32 {
	return h.keys(kv, first)[h.stride():]
}

// sideBySide packs tokens of x, stride elements apart, as the columns of a panel (width, count).
func (h *attentionHead) sideBySide(to *vector.Matrix, count int, x []float32, stride int) {
	to.Reset(int(h.Width), count)
	to.PackTransposed(0, x, stride)
}

// addBack adds the columns of a panel (width, count) to tokens that lie stride elements apart.
func (h *attentionHead) addBack(to []float32, stride, count int, panel []float32) {
	vector.Transpose(to, stride, panel, vector.Columns(), int(h.Width), count, true)
}

// attentionForwardFast computes the scores of a panel of queries as a matrix product, then their
// exponentials, then the weighted values as another product. Queries come times the scale and
// log₂ e, so that exponentials are powers of two.
func attentionForwardFast(p *Params, a []gpu.Array32, split gpu.Split) {
	columns, heads, queries := vector.Columns(), int(p.Heads), int(p.Queries)
	if vector.Attends(int(p.Width)) {
		p.attendNarrow(a, split)
		return
	}
	runs := kernels.Ceil(queries, columns)
	at := func(i int) (h attentionHead, first, count int) {
		first = i % runs * columns
		return attentionHead{p, i / runs / heads, i / runs % heads}, first, min(columns, queries-first)
	}
	kernels.InRooms(int(p.Batch)*heads*runs, attendCalls, split, func(i int, room *kernels.Room, calls *vector.Calls) {
		h, first, count := at(i)
		h.attend(first, count, room, calls, false, a)
	}, func(i int, room *kernels.Room) {
		h, first, count := at(i)
		h.attended(first, count, room, a)
	})
}

// attendNarrow is attentionForwardFast for heads of few channels, with a function of the processor
// for all three steps. Keys and values of a head come side by side first, to stay in the first
// cache.
func (p *Params) attendNarrow(a []gpu.Array32, split gpu.Split) {
	columns, queries, keys, width := vector.Columns(), int(p.Queries), int(p.Keys), int(p.Width)
	runs := kernels.Ceil(queries, piecePanels*columns)
	split(int(p.Batch*p.Heads)*runs, func(from, to int) {
		room, packed := kernels.TakeRoom(), -1
		defer room.Leave()
		for i := from; i < to; i++ {
			h := attentionHead{p, i / runs / int(p.Heads), i / runs % int(p.Heads)}
			both := kernels.RoomFor(&room.Seen, 2*keys*width)
			if packed != i/runs {
				packed = i / runs
				k, v, step := h.keys(a[1].F, 0), h.values(a[1].F, 0), 2*h.stride()
				for key := range keys {
					for c := 0; c < width; c += 4 {
						*(*[4]float32)(both[2*key*width+c:]) = *(*[4]float32)(k[key*step+c:])
						*(*[4]float32)(both[(2*key+1)*width+c:]) = *(*[4]float32)(v[key*step+c:])
					}
				}
			}
			for first := i % runs * piecePanels * columns; first < min((i%runs+1)*piecePanels*columns, queries); first += columns {
				count := min(columns, queries-first)
				h.sideBySide(&room.Matrix, count, h.queries(a[0].F, first), h.stride())
				room.Matrix.Scale(h.Scale * math.Log2E)
				_, _, total := room.OfColumns()
				room.Matrix.Attend(keys, both, both[width:], 2*width, kernels.RoomFor(&room.Sums, width*columns), total)
				h.attended(first, count, room, a)
			}
		}
	})
}

// attendCalls is how many calls attend makes.
const attendCalls = 3

// attend computes a panel of queries. It takes the highest score of a query from all of its scores
// if far is true, and otherwise nothing. room.Sums receives the sums of weighted values, and
// room.Columns what it took, the same times -1, and the sums of weights.
func (h *attentionHead) attend(first, count int, room *kernels.Room, calls *vector.Calls, far bool, a []gpu.Array32) {
	k, v, step := h.keys(a[1].F, 0), h.values(a[1].F, 0), 2*h.stride()
	columns, keys, width := vector.Columns(), int(h.Keys), int(h.Width)
	highest, shift, total := room.OfColumns()
	h.sideBySide(&room.Matrix, count, h.queries(a[0].F, first), h.stride())
	room.Matrix.Scale(h.Scale * math.Log2E)
	sums := kernels.RoomFor(&room.Sums, width*columns)
	scores := kernels.RoomFor(&room.Rows, keys*columns)
	calls.Multiply(&room.Matrix, keys, k, step, 1, scores, columns, false)
	if far {
		vector.MaxOfColumns(highest, scores)
		vector.AddScaled(shift, highest, -1)
	}
	calls.ExpColumns(scores, 1, shift, total)
	room.Wrapped.Wrap(keys, scores)
	calls.Multiply(&room.Wrapped, width, v, 1, step, sums, columns, false)
}

// Sums of weights below little or above large may have lost weights to float32's range, 1e-38 to
// 3e38.
const little, large = 1e-25, 1e25

// attended writes the results of a panel of queries. Of those whose sum of weights is out of range,
// it first computes the results anew; the others do not depend on who shares their panel.
func (h *attentionHead) attended(first, count int, room *kernels.Room, a []gpu.Array32) {
	columns, width := vector.Columns(), int(h.Width)
	highest, inverse, total := room.Columns[0][:columns], room.Columns[1][:columns], room.Columns[2][:columns]
	sums, out := room.Sums[:width*columns], func(t float32) bool { return !(little < t && t < large) }
	if slices.ContainsFunc(total[:count], out) {
		anew := kernels.TakeRoom()
		defer anew.Leave()
		h.attend(first, count, anew, nil, true, a)
		for i, t := range total {
			if out(t) {
				highest[i], total[i] = anew.Columns[0][i], anew.Columns[2][i]
				for c := i; c < len(sums); c += columns {
					sums[c] = anew.Sums[c]
				}
			}
		}
	}
	y, logSumExp := h.queries(a[2].F, first), a[3].F
	for i, v := range total {
		inverse[i] = 1 / v
	}
	for c := range width {
		vector.Multiply(sums[c*columns:][:columns], inverse)
	}
	vector.Log(total)
	for i := range count {
		logSumExp[h.row(first+i)] = highest[i] + float32(total[i]*math.Log2E)
	}
	vector.Transpose(y, h.stride(), sums, columns, width, count, false)
}

// togetherRows is how many rows two panels have at once: few enough to stay in the second cache.
// With fewer rows, starting products costs more than the cache saves.
const togetherRows = 256

// attentionBackwardQFast makes delta, and adds to dq the gradients of the scores times the keys. It
// takes a panel of queries at a time.
func attentionBackwardQFast(p *Params, a []gpu.Array32, split gpu.Split) {
	q, kv, dy, lse, y, delta, dq := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, a[5].F, a[6].F
	columns, width := vector.Columns(), int(p.Width)
	p.panels(split, int(p.Queries), func(h attentionHead, first, count int) {
		room, more := kernels.TakeRoom(), kernels.TakeRoom()
		defer room.Leave()
		defer more.Leave()
		shift, off, _ := room.OfColumns()
		for i := range count {
			row := h.row(first + i)
			delta[row] = vector.Dot(y[row*width:][:width], dy[row*width:][:width])
			shift[i], off[i] = -lse[row]*math.Ln2, delta[row]
		}
		h.sideBySide(&room.Matrix, count, h.queries(q, first), h.stride())
		h.sideBySide(&more.Matrix, count, h.queries(dy, first), h.stride())
		sums := kernels.RoomFor(&room.Sums, width*columns)
		clear(sums)
		h.inParts(int(p.Keys), room, func(key int, w, ds []float32) {
			keys := h.keys(kv, key)
			h.scores(&room.Matrix, w, keys, 2*h.stride())
			h.scores(&more.Matrix, ds, h.values(kv, key), 2*h.stride())
			vector.ExpGradientColumns(w, ds, p.Scale, shift, off)
			h.weigh(sums, room, ds, keys, 2*h.stride())
		})
		h.addBack(h.queries(dq, first), h.stride(), count, sums)
	})
}

// attentionBackwardKVFast works on a panel of keys at a time. It adds the transposed gradients of
// scores times queries to dk, and transposed weights times dy to dv.
func attentionBackwardKVFast(p *Params, a []gpu.Array32, split gpu.Split) {
	q, kv, dy, lse, delta, dkv := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, a[5].F
	columns, width := vector.Columns(), int(p.Width)
	p.panels(split, int(p.Keys), func(h attentionHead, first, count int) {
		room, more := kernels.TakeRoom(), kernels.TakeRoom()
		defer room.Leave()
		defer more.Leave()
		h.sideBySide(&room.Matrix, count, h.keys(kv, first), 2*h.stride())
		h.sideBySide(&more.Matrix, count, h.values(kv, first), 2*h.stride())
		ofKeys, ofValues := kernels.RoomFor(&room.Sums, width*columns), kernels.RoomFor(&more.Sums, width*columns)
		clear(ofKeys)
		clear(ofValues)
		var shift, off [togetherRows]float32
		h.inParts(int(p.Queries), room, func(query int, w, ds []float32) {
			queries, dys := h.queries(q, query), h.queries(dy, query)
			h.scores(&room.Matrix, w, queries, h.stride())
			h.scores(&more.Matrix, ds, dys, h.stride())
			count := len(w) / columns
			for i := range count {
				shift[i], off[i] = -lse[h.row(query+i)]*math.Ln2, delta[h.row(query+i)]
			}
			vector.ExpGradientRows(w, ds, p.Scale, shift[:count], off[:count])
			h.weigh(ofKeys, room, ds, queries, h.stride())
			h.weigh(ofValues, room, w, dys, h.stride())
		})
		h.addBack(h.keys(dkv, first), 2*h.stride(), count, ofKeys)
		h.addBack(h.values(dkv, first), 2*h.stride(), count, ofValues)
	})
}

// inParts calls f for parts of the tokens, with the first token and room for weights and ds.
func (h *attentionHead) inParts(tokens int, room *kernels.Room, f func(first int, w, ds []float32)) {
	columns := vector.Columns()
	both := kernels.RoomFor(&room.Rows, 2*togetherRows*columns)
	for first := 0; first < tokens; first += togetherRows {
		n := min(togetherRows, tokens-first) * columns
		f(first, both[:n], both[togetherRows*columns:][:n])
	}
}

// scores are the products of tokens, stride elements apart, with the tokens of a panel.
func (h *attentionHead) scores(of *vector.Matrix, to, tokens []float32, stride int) {
	of.Multiply(len(to)/vector.Columns(), tokens, stride, 1, to, vector.Columns(), false)
}

// weigh adds tokens, stride elements apart, to sums (width, columns), with a panel's weights.
func (h *attentionHead) weigh(sums []float32, room *kernels.Room, weights, tokens []float32, stride int) {
	room.Wrapped.Wrap(len(weights)/vector.Columns(), weights)
	room.Wrapped.Multiply(int(h.Width), tokens, 1, stride, sums, vector.Columns(), true)
}
