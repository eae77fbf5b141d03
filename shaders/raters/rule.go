package raters

import (
	_ "embed"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed rule.wgsl
var ruleFile string

var (
	likelihoodForward = kernels.InPieces(ratersPixels, likelihoodPart[float64], likelihoodPart[float32],
		perBlock("likelihood_forward", ruleFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, nil))
	likelihoodBackward = kernels.Adding(kernels.InPieces(ratersPixels, likelihoodBackwardPart[float64], likelihoodBackwardPart[float32],
		perBlock("likelihood_backward", ruleFile, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, nil)))
	normalise = kernels.InPieces(ratersPixels, normalisePart[float64], normalisePart[float32],
		perBlock("normalise", ruleFile, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, nil))
)

func likelihoodPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	n, k := int(p.Raters*p.Classes), int(p.Classes)
	vector.LogLikelihood(a[4].F[from*n:to*n], a[0].F[from*n:to*n], a[2].F[from*n:to*n])
	for pixel := from; pixel < to; pixel++ {
		where, valid, y := fusedOf(p, a[1].F, pixel), ofImage(p, a[3].F, pixel), ofPixel(p, a[4].F, pixel)
		for m := 0; m < n; m += k {
			for c, w := range where {
				y[m+c] *= valid[m+c] * w
			}
		}
	}
}

func likelihoodBackwardPart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	n, k := int(p.Raters*p.Classes), int(p.Classes)
	for pixel := from; pixel < to; pixel++ {
		estimate, label, dy, dx := ofPixel(p, a[0].F, pixel), ofPixel(p, a[2].F, pixel), ofPixel(p, a[4].F, pixel), ofPixel(p, a[5].F, pixel)
		where, valid := fusedOf(p, a[1].F, pixel), ofImage(p, a[3].F, pixel)
		for m := 0; m < n; m += k {
			for c, w := range where {
				q := estimate[m+c]
				dx[m+c] += valid[m+c] * w * (label[m+c] - q) / (q * (1 - q)) * dy[m+c]
			}
		}
	}
}

func normalisePart[F gpu.Float](p *ratersParams, a []gpu.ArrayOf[F], from, to int) {
	n, k := int(p.Raters*p.Classes), int(p.Classes)
	for pixel := from; pixel < to; pixel++ {
		x, divisors, y := ofPixel(p, a[0].F, pixel), fusedOf(p, a[1].F, pixel), ofPixel(p, a[2].F, pixel)
		for m := 0; m < n; m += k {
			for c, d := range divisors {
				y[m+c] = 0
				if d > 1e-12 {
					y[m+c] = x[m+c] / d
				}
			}
		}
	}
}

// ruleOf checks maps x (B, H, W, M, K) and the fused map beside them (B, H, W, K).
func ruleOf(operator string, x, fused *tensor.Tensor) *ratersParams {
	kernels.RequireShape(operator, "fused map", fused, x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(4))
	return ratersOf(operator, x)
}

var (
	likelihoodKind = kernels.Operator(tensor.Kind{Name: "Likelihood", Passes: 1, Images: 4, Repeat: repeatRaters}, likelihoodForward, func(op *tensor.Op) {
		estimate, where, z, valid := op.Inputs[0], op.Inputs[1], op.Inputs[2], op.Inputs[3]
		op.Dispatch(likelihoodBackward, op.Attributes, estimate, where, z, valid, op.Output().Gradient(), estimate.Gradient())
	})
	normaliseKind = kernels.Operator(tensor.Kind{Name: "Normalise", Passes: 1, Images: 2, Repeat: repeatRaters}, normalise, func(op *tensor.Op) {
		back := op.Graph().New("normalised gradient", op.Output().Shape())
		op.Dispatch(normalise, op.Attributes, op.Output().Gradient(), op.Inputs[1], back)
		pointwise.AddTo(op.Inputs[0], back, 1)
	})
)

// LikelihoodRule is ℓ = z log z̃ + (1 - z) log(1 - z̃), the log-probability of the label that was
// given, averaged over a Gaussian window of disputed pixels with the given σ in pixels (PAPER.md
// §3.3). estimate z̃, inside (0, 1), and z are (B, H, W, M, K), valid (B, M, K). Where no pixel
// near by is disputed, ℓ is 0.
func LikelihoodRule(estimate, z, valid *tensor.Tensor, sigma float64) *tensor.Tensor {
	kernels.SameShape("likelihood_rule", estimate, z)
	g, where := estimate.Graph(), Disputed(z, valid)
	p := ruleOf("likelihood_rule", estimate, where)
	likelihoods := g.Apply(likelihoodKind, p, estimate.Shape(), estimate, where, z, valid)
	b, h, w := estimate.Dim(0), estimate.Dim(1), estimate.Dim(2)
	radius := int(math.Ceil(3 * sigma))
	sum := pool.GaussianBlur(likelihoods.Reshape(b, h, w, estimate.Dim(3)*estimate.Dim(4)), sigma, radius).Reshape(estimate.Shape()...)
	return g.Apply(normaliseKind, p, estimate.Shape(), sum, pool.GaussianBlur(where, sigma, radius))
}

// AgreementRule is ℓ = log[z̃ y + (1 - z̃)(1 - y)]: how well the mask that a rater would draw
// agrees with the calibrated mask y (B, H, W, K). estimate z̃, inside (0, 1), is (B, H, W, M, K).
// No gradient passes through y.
func AgreementRule(estimate, y *tensor.Tensor) *tensor.Tensor {
	ruleOf("agreement_rule", estimate, y)
	masks := y.Detach()
	for range estimate.Dim(3) - 1 { // a mask beside each rater's
		masks = pointwise.Concat(masks, y.Detach())
	}
	masks = masks.Reshape(estimate.Shape()...)
	outside := pointwise.Multiply(pointwise.Affine(estimate, -1, 1), pointwise.Affine(masks, -1, 1))
	return pointwise.Log(pointwise.Add(pointwise.Multiply(estimate, masks), outside))
}
