package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed ssim.wgsl
var ssimSource string

type ssimParams struct{ N uint32 }

func ssimCount(p *ssimParams) uint32 { return p.N }

const ssimC1, ssimC2 = 1e-4, 9e-4

// ssimTerms are the four factors of S = l c / (p q) at one pixel, from its windowed moments, and the means.
func ssimTerms(m []float64) (l, c, p, q, meanA, meanB float64) {
	meanA, meanB = m[0], m[1]
	squares := meanA*meanA + meanB*meanB
	return 2*meanA*meanB + ssimC1, 2*(m[3]-meanA*meanB) + ssimC2, squares + ssimC1, m[2] - squares + ssimC2, meanA, meanB
}

var (
	ssimMomentsForward = perElement("ssim_moments_forward", ssimSource, []gpu.Access{read, read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			for i := range int(p.N) {
				a, b := x[0].F[i], x[1].F[i]
				copy(x[2].F[4*i:], []float64{a, b, a*a + b*b, a * b})
			}
		})
	ssimMomentsBackwardA = ssimMomentsBackward("ssim_moments_backward_a", 0)
	ssimMomentsBackwardB = ssimMomentsBackward("ssim_moments_backward_b", 1)
	ssimLossForward      = perElement("ssim_loss_forward", ssimSource, []gpu.Access{read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			for i := range int(p.N) {
				l, c, pp, q, _, _ := ssimTerms(x[0].F[4*i:])
				x[1].F[i] = 1 - l*c/(pp*q)
			}
		})
	ssimLossBackward = perElement("ssim_loss_backward", ssimSource, []gpu.Access{read, read, write}, ssimCount,
		func(p *ssimParams, x []gpu.Array) {
			for i := range int(p.N) {
				l, c, pp, q, meanA, meanB := ssimTerms(x[0].F[4*i:])
				s, g, d := l*c/(pp*q), -x[1].F[i], x[2].F[4*i:]
				byL, byC, byP, byQ := g*c/(pp*q), g*l/(pp*q), -g*s/pp, -g*s/q
				d[0] += 2*meanB*(byL-byC) + 2*meanA*(byP-byQ)
				d[1] += 2*meanA*(byL-byC) + 2*meanB*(byP-byQ)
				d[2] += byQ
				d[3] += 2 * byC
			}
		})
)

// ssimMomentsBackward takes a, b, the gradients of their moments, and that of one of them: of a, or of b.
func ssimMomentsBackward(name string, of int) *tensor.Kernel {
	return perElement(name, ssimSource, []gpu.Access{read, read, read, write}, ssimCount, func(p *ssimParams, x []gpu.Array) {
		for i := range int(p.N) {
			d := x[2].F[4*i:]
			x[3].F[i] += d[of] + 2*x[of].F[i]*d[2] + x[1-of].F[i]*d[3]
		}
	})
}

// SSIMLoss is 1 − SSIM at every pixel of a and b (B, H, W, K), values in 0..1: 11×11 Gaussian window of σ 1.5, zeros outside
// (PAPER.md §3.9).
func SSIMLoss(a, b *Tensor) *Tensor {
	sameShape("ssim", a, b)
	g := a.Graph()
	p := &ssimParams{uint32(a.Elements())}
	shape := a.Shape()
	moments := g.New("ssim_moments", []int{shape[0], shape[1], shape[2], 4 * shape[3]}, a, b)
	g.Dispatch(ssimMomentsForward, p, a, b, moments)
	g.OnBackward(moments, func() {
		if a.NeedsGradient() {
			g.Dispatch(ssimMomentsBackwardA, p, a, b, moments.Gradient(), a.Gradient())
		}
		if b.NeedsGradient() {
			g.Dispatch(ssimMomentsBackwardB, p, a, b, moments.Gradient(), b.Gradient())
		}
	})
	windowed := GaussianBlur(moments, 1.5, 5)
	loss := g.New("ssim_loss", shape, a, b)
	g.Dispatch(ssimLossForward, p, windowed, loss)
	g.OnBackward(loss, func() { g.Dispatch(ssimLossBackward, p, windowed, loss.Gradient(), windowed.Gradient()) })
	return loss
}
