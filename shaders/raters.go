package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
)

//go:embed raters.wgsl
var ratersSource string

// labelOf is the index in (B, M, K) of element i of (B, P, M, K).
func (p *ratersParams) labelOf(i int) int {
	labels := int(p.Raters * p.Classes)
	return i/(labels*int(p.Pixels))*labels + i%labels
}

var (
	shuffleRaters = perElement("shuffle_raters", ratersSource, []gpu.Access{read, read, read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			x, order, scale, offset := a[0].F, a[1].U, a[2].F, a[3].F
			k := int(p.Classes)
			for i := range int(ratersAll(p)) {
				m := i / k % int(p.Raters)
				a[4].F[i] = scale[m]*x[i+(int(order[m])-m)*k] + offset[m]
			}
		})
	weighRatersForward = perElement("weigh_raters_forward", ratersSource, []gpu.Access{read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersAll(p)) {
				a[2].F[i] = a[0].F[i] * a[1].F[p.labelOf(i)]
			}
		})
	weighRatersBackward = perElement("weigh_raters_backward", ratersSource, []gpu.Access{read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersAll(p)) {
				a[2].F[i] += a[0].F[i] * a[1].F[p.labelOf(i)]
			}
		})
	disputed = perElement("disputed", ratersSource, []gpu.Access{read, read, write}, ratersFused,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersFused(p)) {
				least, most := 2.0, -1.0
				for m := range int(p.Raters) {
					if a[1].F[p.label(i)+m*int(p.Classes)] > 0 {
						label := a[0].F[p.first(i)+m*int(p.Classes)]
						least, most = min(least, label), max(most, label)
					}
				}
				a[2].F[i] = 0
				if most > least {
					a[2].F[i] = 1
				}
			}
		})
)

// Shuffle holds one reweighting of PAPER.md §3.8: rater m gets scale[m] times the confidence of rater order[m], plus offset[m].
// A permutation has scale 1 and offset 0; random confidences ψ have scale 0 and offset log ψ. order (M) u32, scale, offset (M).
type Shuffle struct{ Order, Scale, Offset *Tensor }

// ShuffleRaters applies a reweighting to confidences x (B, H, W, M, K). No gradient passes.
func ShuffleRaters(x *Tensor, s Shuffle) *Tensor {
	p := ratersOf("shuffle_raters", x)
	for _, t := range []*Tensor{s.Order, s.Scale, s.Offset} {
		requireShape("shuffle_raters", "order, scale, offset", t, x.Dim(3))
	}
	g := x.Graph()
	y := g.New("shuffle_raters", x.Shape())
	g.Dispatch(shuffleRaters, p, x, s.Order, s.Scale, s.Offset, y)
	return y
}

// WeighRaters multiplies the map of structure k by rater m of image b, x (B, H, W, M, K), by share[b, m, k].
func WeighRaters(x, share *Tensor) *Tensor {
	p := ratersOf("weigh_raters", x)
	requireShape("weigh_raters", "share", share, x.Dim(0), x.Dim(3), x.Dim(4))
	g := x.Graph()
	y := g.New("weigh_raters", x.Shape(), x)
	g.Dispatch(weighRatersForward, p, x, share, y)
	g.OnBackward(y, func() { g.Dispatch(weighRatersBackward, p, y.Gradient(), share, x.Gradient()) })
	return y
}

// Disputed is 1 where two raters who labelled differ: labels z (B, H, W, M, K), valid (B, M, K), result (B, H, W, K). No gradient.
func Disputed(z, valid *Tensor) *Tensor {
	p := ratersOf("disputed", z)
	requireShape("disputed", "valid", valid, z.Dim(0), z.Dim(3), z.Dim(4))
	g := z.Graph()
	y := g.New("disputed", []int{z.Dim(0), z.Dim(1), z.Dim(2), z.Dim(4)})
	g.Dispatch(disputed, p, z, valid, y)
	return y
}
