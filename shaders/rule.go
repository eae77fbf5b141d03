package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed rule.wgsl
var ruleFile string

var (
	likelihoodForward = perBlock("likelihood_forward", ruleFile, []gpu.Access{read, read, read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.values() {
				q, label := a[0].F[i], a[2].F[i]
				a[4].F[i] = a[3].F[p.labelOf(i)] * a[1].F[p.withoutRater(i)] * (label*math.Log(q) + (1-label)*math.Log(1-q))
			}
		})
	likelihoodBackward = perBlock("likelihood_backward", ruleFile, []gpu.Access{read, read, read, read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.values() {
				q, label := a[0].F[i], a[2].F[i]
				a[5].F[i] += a[3].F[p.labelOf(i)] * a[1].F[p.withoutRater(i)] * (label - q) / (q * (1 - q)) * a[4].F[i]
			}
		})
	agreementForward = perBlock("agreement_forward", ruleFile, []gpu.Access{read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.values() {
				q, mask := a[0].F[i], a[1].F[p.withoutRater(i)]
				a[2].F[i] = math.Log(q*mask + (1-q)*(1-mask))
			}
		})
	agreementBackward = perBlock("agreement_backward", ruleFile, []gpu.Access{read, read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.values() {
				q, mask := a[0].F[i], a[1].F[p.withoutRater(i)]
				a[3].F[i] += (2*mask - 1) / (q*mask + (1-q)*(1-mask)) * a[2].F[i]
			}
		})
	normalise = perBlock("normalise", ruleFile, []gpu.Access{read, read, write},
		func(p *ratersParams, a []gpu.Array) {
			for i := range p.values() {
				a[2].F[i] = 0
				if d := a[1].F[p.withoutRater(i)]; d > 1e-12 {
					a[2].F[i] = a[0].F[i] / d
				}
			}
		})
)

// ruleOf checks maps x (B, H, W, M, K) and the fused map beside them (B, H, W, K).
func ruleOf(operator string, x, fused *Tensor) *ratersParams {
	requireShape(operator, "fused map", fused, x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(4))
	return ratersOf(operator, x)
}

// LikelihoodRule is ℓ = z log z̃ + (1 - z) log(1 - z̃), the log-probability of the label that was given, averaged over a Gaussian
// window of disputed pixels with the given σ in pixels (PAPER.md §3.3). estimate z̃, inside (0, 1), and z are (B, H, W, M, K),
// valid (B, M, K). Where nobody disagrees near by, ℓ is 0.
func LikelihoodRule(estimate, z, valid *Tensor, sigma float64) *Tensor {
	sameShape("likelihood_rule", estimate, z)
	g := estimate.Graph()
	where := Disputed(z, valid)
	p := ruleOf("likelihood_rule", estimate, where)
	likelihoods := g.New("likelihood", estimate.Shape(), estimate)
	g.Dispatch(likelihoodForward, p, estimate, where, z, valid, likelihoods)
	g.OnBackward(likelihoods, func() {
		g.Dispatch(likelihoodBackward, p, estimate, where, z, valid, likelihoods.Gradient(), estimate.Gradient())
	})
	b, h, w := estimate.Dim(0), estimate.Dim(1), estimate.Dim(2)
	radius := int(math.Ceil(3 * sigma))
	sum := GaussianBlur(likelihoods.Reshape(b, h, w, estimate.Dim(3)*estimate.Dim(4)), sigma, radius).Reshape(estimate.Shape()...)
	weight := GaussianBlur(where, sigma, radius)
	y := g.New("likelihood_rule", estimate.Shape(), sum)
	g.Dispatch(normalise, p, sum, weight, y)
	g.OnBackward(y, func() {
		back := g.New("normalised gradient", sum.Shape())
		g.Dispatch(normalise, p, y.Gradient(), weight, back)
		addTo(sum, back, 1)
	})
	return y
}

// AgreementRule is ℓ = log[z̃ y + (1 - z̃)(1 - y)]: how far what a rater would draw agrees with the calibrated mask y
// (B, H, W, K), through which no gradient passes. estimate z̃, inside (0, 1), is (B, H, W, M, K).
func AgreementRule(estimate, y *Tensor) *Tensor {
	g := estimate.Graph()
	p := ruleOf("agreement_rule", estimate, y)
	out := g.New("agreement_rule", estimate.Shape(), estimate)
	g.Dispatch(agreementForward, p, estimate, y, out)
	g.OnBackward(out, func() { g.Dispatch(agreementBackward, p, estimate, y, out.Gradient(), estimate.Gradient()) })
	return out
}
