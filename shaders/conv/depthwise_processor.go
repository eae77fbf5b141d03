package conv

import (
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/vector"
)

// depthwiseForwardFast computes y at positions [from, to).
func depthwiseForwardFast(p *Params, a []gpu.Array32, from, to int) {
	n, act := int(p.Inputs), p.Activation
	w := &vector.Windows{
		Channels: n, X: a[0].F, Weights: a[1].F,
		YStep: int(p.Cols.YStep) * n, XStep: int(p.Cols.XStep) * n,
		XTap:      [2]int{int(p.Rows.XTap*p.Cols.XSize) * n, int(p.Cols.XTap) * n},
		WeightTap: [2]int{int(p.Rows.WTap*p.Cols.WSize) * n, int(p.Cols.WTap) * n},
		Least:     float32(math.Inf(-1)), Most: float32(math.Inf(1)),
	}
	switch act {
	case pointwise.Activation(pointwise.ReLUKind):
		w.Least, act = 0, 0
	case pointwise.Activation(pointwise.ReLU6Kind):
		w.Least, w.Most, act = 0, 6, 0
	}
	p.eachPhase(func(p *Params) {
		p.eachRun(from, to, func(r *depthwiseRun) {
			w.Y, w.Positions, w.Taps, w.X0, w.Weight0 = a[3].F[r.y*n:], r.count, r.taps, r.x*n, r.weight*n
			switch {
			case p.Adds == addToY: // a gradient, which has no bias
				w.Start, w.StartStep = w.Y, w.YStep
			case p.HasBias == 1:
				w.Start = a[2].F
			}
			w.Sum()
			if act != 0 {
				pointwise.ActivateAll(act, w.Y[:r.count*n])
			}
		})
	})
}

// depthwiseWeightFast computes the sums of parts [from, to) of the positions, for all taps. Taps
// and positions exchange their roles in the forward direction: each tap sums x times dy over a run
// of positions.
func depthwiseWeightFast(p *Params, a []gpu.Array32, from, to int) {
	n, size := int(p.Inputs), p.taps()*int(p.Inputs)
	w := &vector.Windows{
		Channels: n, X: a[0].F, Weights: a[1].F,
		YStep: int(p.Cols.WTap) * n, StartStep: int(p.Cols.WTap) * n, XStep: int(p.Cols.XTap) * n,
		XTap: [2]int{0, int(p.Cols.XStep) * n}, WeightTap: [2]int{0, int(p.Cols.YStep) * n},
		Least: float32(math.Inf(-1)), Most: float32(math.Inf(1)),
	}
	for part := from; part < to; part++ {
		dw := a[2].F[part*size:][:size]
		if p.Adds == 0 {
			clear(dw)
		}
		p.eachRun(part*int(p.Chunk), min((part+1)*int(p.Chunk), p.pixels()), func(r *depthwiseRun) {
			w.Positions, w.Taps, w.Weight0 = r.taps[1], [2]int{1, r.count}, r.y*n
			for t := range r.taps[0] {
				w.Y = dw[(r.weight+t*int(p.Rows.WTap*p.Cols.WSize))*n:]
				w.Start, w.X0 = w.Y, (r.x+t*int(p.Rows.XTap*p.Cols.XSize))*n
				w.Sum()
			}
		})
	}
}

// depthwiseRun is a run of positions of a line that use the same taps. Its first position writes
// pixel y and reads pixel x with its first tap, whose weight has index weight.
type depthwiseRun struct {
	count        int
	taps         [2]int // rows, columns
	x, weight, y int
}

// eachRun cuts positions [from, to) into runs.
func (p *Params) eachRun(from, to int, f func(r *depthwiseRun)) {
	var run depthwiseRun
	for at := from; at < to; at += run.count {
		b, u, v := p.place(at)
		row, rows := p.Rows.inside(u)
		column, columns := p.Cols.inside(v)
		run = depthwiseRun{count: 1, taps: [2]int{int(rows), int(columns)}, y: p.destination(at)}
		if columns == p.Cols.Taps {
			run.count = min(p.Cols.wholePositions(v), int(p.Cols.Count-v), to-at)
		}
		run.x = int((b*p.Rows.XSize+p.Rows.reads(u, row))*p.Cols.XSize + p.Cols.reads(v, column))
		run.weight = p.weightAt(int(row*p.Cols.Taps + column))
		f(&run)
	}
}

// reads is the pixel of x that position u reads with tap t.
func (a *conv2dAxis) reads(u, t int32) int32 { return u*a.XStep + a.XStart + t*a.XTap }

// inside is the first tap of position u that reads inside x, and the number of such taps.
func (a *conv2dAxis) inside(u int32) (first, count int32) {
	at := a.reads(u, 0)
	before, until := -at, a.XSize-at
	if a.XTap < 0 {
		before, until = at-a.XSize+1, at+1
	}
	first = min(max(0, before), a.Taps)
	return first, max(0, min(until, a.Taps)-first)
}

// wholePositions is the number of positions from u on with all taps inside x, if u has.
func (a *conv2dAxis) wholePositions(u int32) int {
	last := max(a.reads(u, 0), a.reads(u, a.Taps-1))
	return int((a.XSize-1-last)/a.XStep) + 1
}
