package loss

import (
	_ "embed"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

//go:embed ssim.wgsl
var ssimSource string

type ssimParams struct{ N uint32 }

func ssimCount(p *ssimParams) uint32 { return p.N }

const ssimC1, ssimC2 = 1e-4, 9e-4

// ssimTerms returns the four factors of S = l c / (p q) at one pixel, and the two means, from the
// pixel's windowed moments.
func ssimTerms[F gpu.Float](m []F) (l, c, p, q, meanA, meanB F) {
	m = m[:4]
	meanA, meanB = m[0], m[1]
	squares := meanA*meanA + meanB*meanB
	return 2*meanA*meanB + ssimC1, 2*(m[3]-meanA*meanB) + ssimC2, squares + ssimC1, m[2] - squares + ssimC2, meanA, meanB
}

var (
	ssimMomentsForward = kernels.InPieces(ssimCount, ssimMomentsPart[float64], ssimMomentsPart[float32],
		kernels.PerElement("ssim_moments_forward", ssimSource, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, ssimCount, nil))
	ssimMomentsBackwardA = ssimMomentsBackward("ssim_moments_backward_a", 0)
	ssimMomentsBackwardB = ssimMomentsBackward("ssim_moments_backward_b", 1)
	ssimLossForward      = kernels.InPieces(ssimCount, ssimLossPart[float64], ssimLossPart[float32],
		kernels.PerElement("ssim_loss_forward", ssimSource, []gpu.Access{gpu.Read, gpu.ReadWrite}, ssimCount, nil))
	ssimLossBackward = kernels.Adding(kernels.InPieces(ssimCount, ssimLossBackwardPart[float64], ssimLossBackwardPart[float32],
		kernels.PerElement("ssim_loss_backward", ssimSource, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, ssimCount, nil)))
)

func ssimMomentsPart[F gpu.Float](_ *ssimParams, x []gpu.ArrayOf[F], from, to int) {
	for i := from; i < to; i++ {
		a, b, m := x[0].F[i], x[1].F[i], x[2].F[4*i:][:4]
		m[0], m[1], m[2], m[3] = a, b, a*a+b*b, a*b
	}
}

// ssimMomentsBackward takes a, b, the gradients of their moments, and the gradient of a (of = 0) or
// b (of = 1), to which it adds.
func ssimMomentsBackward(name string, of int) *tensor.Kernel {
	return kernels.Adding(kernels.InPieces(ssimCount, ssimMomentsBackwardPart[float64](of), ssimMomentsBackwardPart[float32](of),
		kernels.PerElement(name, ssimSource, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, ssimCount, nil)))
}

func ssimMomentsBackwardPart[F gpu.Float](of int) func(p *ssimParams, x []gpu.ArrayOf[F], from, to int) {
	return func(_ *ssimParams, x []gpu.ArrayOf[F], from, to int) {
		self, other, dx := x[of].F[from:to], x[1-of].F[from:to], x[3].F[from:to]
		for i, v := range self {
			d := x[2].F[4*(from+i):][:4]
			dx[i] += d[of] + 2*v*d[2] + other[i]*d[3]
		}
	}
}

func ssimLossPart[F gpu.Float](_ *ssimParams, x []gpu.ArrayOf[F], from, to int) {
	for i := from; i < to; i++ {
		l, c, p, q, _, _ := ssimTerms(x[0].F[4*i:])
		x[1].F[i] = 1 - l*c/(p*q)
	}
}

func ssimLossBackwardPart[F gpu.Float](_ *ssimParams, x []gpu.ArrayOf[F], from, to int) {
	for i := from; i < to; i++ {
		l, c, p, q, meanA, meanB := ssimTerms(x[0].F[4*i:])
		s, g, d := l*c/(p*q), -x[1].F[i], x[2].F[4*i:][:4]
		byL, byC, byP, byQ := g*c/(p*q), g*l/(p*q), -g*s/p, -g*s/q
		d[0] += 2*meanB*(byL-byC) + 2*meanA*(byP-byQ)
		d[1] += 2*meanA*(byL-byC) + 2*meanB*(byP-byQ)
		d[2] += byQ
		d[3] += 2 * byC
	}
}

var repeatSSIM = kernels.Repeat(func(p *ssimParams, n uint32) { p.N *= n })

var (
	ssimMomentsKind = kernels.Operator(tensor.Kind{Name: "SSIMMoments", Images: 2, Repeat: repeatSSIM}, ssimMomentsForward, func(op *tensor.Op) {
		a, b, d := op.Inputs[0], op.Inputs[1], op.Output().Gradient()
		if a.NeedsGradient() {
			op.Dispatch(ssimMomentsBackwardA, op.Attributes, a, b, d, a.Gradient())
		}
		if b.NeedsGradient() {
			op.Dispatch(ssimMomentsBackwardB, op.Attributes, a, b, d, b.Gradient())
		}
	})
	ssimLossKind = kernels.Operator(tensor.Kind{Name: "SSIMLoss", Images: 1, Repeat: repeatSSIM}, ssimLossForward, func(op *tensor.Op) {
		windowed := op.Inputs[0]
		op.Dispatch(ssimLossBackward, op.Attributes, windowed, op.Output().Gradient(), windowed.Gradient())
	})
)

// SSIM is the loss 1 − SSIM at every pixel of a and b (B, H, W, K), values in 0..1: 11×11 Gaussian
// window of σ 1.5, zeros outside (PAPER.md §3.9).
func SSIM(a, b *tensor.Tensor) *tensor.Tensor {
	kernels.SameShape("ssim", a, b)
	g, p, shape := a.Graph(), &ssimParams{uint32(a.Elements())}, a.Shape()
	moments := g.Apply(ssimMomentsKind, p, []int{shape[0], shape[1], shape[2], 4 * shape[3]}, a, b)
	return g.Apply(ssimLossKind, p, shape, pool.GaussianBlur(moments, 1.5, 5))
}
