package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
)

//go:embed raters.wgsl
var ratersSource string

// rater and permuted give, for element i of (B, P, M, K), its index in (B, M) and the element that order[…] takes its place.
func (p *ratersParams) rater(i int) int {
	m, k := int(p.Raters), int(p.Classes)
	return i/(k*m*int(p.Pixels))*m + i/k%m
}

func (p *ratersParams) permuted(i int, order []uint32) int {
	m, k := int(p.Raters), int(p.Classes)
	return (i/(k*m)*m+int(order[p.rater(i)]))*k + i%k
}

var (
	permuteRatersForward = perElement("permute_raters_forward", ratersSource, []gpu.Access{read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersAll(p)) {
				a[2].F[i] = a[0].F[p.permuted(i, a[1].U)]
			}
		})
	permuteRatersBackward = perElement("permute_raters_backward", ratersSource, []gpu.Access{read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersAll(p)) {
				a[2].F[p.permuted(i, a[1].U)] += a[0].F[i]
			}
		})
	weighRatersForward = perElement("weigh_raters_forward", ratersSource, []gpu.Access{read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersAll(p)) {
				a[2].F[i] = a[0].F[i] * a[1].F[p.rater(i)]
			}
		})
	weighRatersBackward = perElement("weigh_raters_backward", ratersSource, []gpu.Access{read, read, write}, ratersAll,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersAll(p)) {
				a[2].F[i] += a[0].F[i] * a[1].F[p.rater(i)]
			}
		})
	disputed = perElement("disputed", ratersSource, []gpu.Access{read, read, write}, ratersFused,
		func(p *ratersParams, a []gpu.Array) {
			for i := range int(ratersFused(p)) {
				least, most := 2.0, -1.0
				for m := range int(p.Raters) {
					if a[1].F[p.image(i)*int(p.Raters)+m] > 0 {
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

// PermuteRaters reorders the raters of x (B, H, W, M, K): rater m of image b becomes rater order[b, m]; order (B, M) u32.
func PermuteRaters(x, order *Tensor) *Tensor {
	p := ratersOf("permute_raters", x)
	requireShape("permute_raters", "order", order, x.Dim(0), x.Dim(3))
	g := x.Graph()
	y := g.New("permute_raters", x.Shape(), x)
	g.Dispatch(permuteRatersForward, p, x, order, y)
	g.OnBackward(y, func() { g.Dispatch(permuteRatersBackward, p, y.Gradient(), order, x.Gradient()) })
	return y
}

// WeighRaters multiplies the maps of rater m of image b, x (B, H, W, M, K), by share (B, M).
func WeighRaters(x, share *Tensor) *Tensor {
	p := ratersOf("weigh_raters", x)
	requireShape("weigh_raters", "share", share, x.Dim(0), x.Dim(3))
	g := x.Graph()
	y := g.New("weigh_raters", x.Shape(), x)
	g.Dispatch(weighRatersForward, p, x, share, y)
	g.OnBackward(y, func() { g.Dispatch(weighRatersBackward, p, y.Gradient(), share, x.Gradient()) })
	return y
}

// Disputed is 1 where two raters who labelled differ: labels z (B, H, W, M, K), valid (B, M), result (B, H, W, K). No gradient.
func Disputed(z, valid *Tensor) *Tensor {
	p := ratersOf("disputed", z)
	requireShape("disputed", "valid", valid, z.Dim(0), z.Dim(3))
	g := z.Graph()
	y := g.New("disputed", []int{z.Dim(0), z.Dim(1), z.Dim(2), z.Dim(4)})
	g.Dispatch(disputed, p, z, valid, y)
	return y
}
