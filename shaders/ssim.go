package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
)

//go:embed ssim.wgsl
var ssimSource string

type ssimParams struct{ N uint32 }

func ssimCount(p *ssimParams) uint32 { return p.N }

const ssimC1, ssimC2 = 1e-4, 9e-4

// ssimTerms are the four factors of S = l c / (p q) at one pixel, and the means.
func ssimTerms(m []float64, i, n int) (l, c, p, q, meanA, meanB float64) {
	meanA, meanB = m[i], m[n+i]
	l = 2*meanA*meanB + ssimC1
	c = 2*(m[4*n+i]-meanA*meanB) + ssimC2
	p = meanA*meanA + meanB*meanB + ssimC1
	q = m[2*n+i] - meanA*meanA + m[3*n+i] - meanB*meanB + ssimC2
	return l, c, p, q, meanA, meanB
}

var (
	ssimMomentsForward = perElement("ssim_moments_forward", ssimSource, []gpu.Access{read, read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			n := int(p.N)
			for i := range n {
				a, b := x[0].F[i], x[1].F[i]
				for j, v := range []float64{a, b, a * a, b * b, a * b} {
					x[2].F[j*n+i] = v
				}
			}
		})
	ssimMomentsBackwardA = perElement("ssim_moments_backward_a", ssimSource, []gpu.Access{read, read, read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			n, a, b, d := int(p.N), x[0].F, x[1].F, x[2].F
			for i := range n {
				x[3].F[i] += d[i] + 2*a[i]*d[2*n+i] + b[i]*d[4*n+i]
			}
		})
	ssimMomentsBackwardB = perElement("ssim_moments_backward_b", ssimSource, []gpu.Access{read, read, read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			n, a, b, d := int(p.N), x[0].F, x[1].F, x[2].F
			for i := range n {
				x[3].F[i] += d[n+i] + 2*b[i]*d[3*n+i] + a[i]*d[4*n+i]
			}
		})
	ssimLossForward = perElement("ssim_loss_forward", ssimSource, []gpu.Access{read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			for i := range int(p.N) {
				l, c, pp, q, _, _ := ssimTerms(x[0].F, i, int(p.N))
				x[1].F[i] = 1 - l*c/(pp*q)
			}
		})
	ssimLossBackward = perElement("ssim_loss_backward", ssimSource, []gpu.Access{read, read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			n, d := int(p.N), x[2].F
			for i := range n {
				l, c, pp, q, meanA, meanB := ssimTerms(x[0].F, i, n)
				s, g := l*c/(pp*q), -x[1].F[i]
				byL, byC, byP, byQ := g*c/(pp*q), g*l/(pp*q), -g*s/pp, -g*s/q
				d[i] += 2*meanB*(byL-byC) + 2*meanA*(byP-byQ)
				d[n+i] += 2*meanA*(byL-byC) + 2*meanB*(byP-byQ)
				d[2*n+i] += byQ
				d[3*n+i] += byQ
				d[4*n+i] += 2 * byC
			}
		})
)

// SSIMLoss is 1 − SSIM at every pixel of a and b (B, H, W, K), values in 0..1: 11×11 Gaussian window of σ 1.5, zeros outside
// (PAPER.md §3.9).
func SSIMLoss(a, b *Tensor) *Tensor {
	sameShape("ssim", a, b)
	g := a.Graph()
	p := &ssimParams{uint32(a.Elements())}
	shape := a.Shape()
	moments := g.New("ssim_moments", []int{5 * shape[0], shape[1], shape[2], shape[3]}, a, b)
	g.Dispatch(ssimMomentsForward, p, a, b, moments)
	g.OnBackward(moments, func() {
		if a.NeedsGradient() {
			g.Dispatch(ssimMomentsBackwardA, p, a, b, moments.Gradient(), a.Gradient())
		}
		if b.NeedsGradient() {
			g.Dispatch(ssimMomentsBackwardB, p, a, b, moments.Gradient(), b.Gradient())
		}
	})
	blurred := GaussianBlur(moments, 1.5, 5)
	loss := g.New("ssim_loss", shape, a, b)
	g.Dispatch(ssimLossForward, p, blurred, loss)
	g.OnBackward(loss, func() { g.Dispatch(ssimLossBackward, p, blurred, loss.Gradient(), blurred.Gradient()) })
	return loss
}
