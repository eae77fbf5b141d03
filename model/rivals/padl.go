package rivals

import (
	"math"

	"mrprism/model"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// padl is Liao, Hu, Xie & Xia (2024), "Modeling annotator preference and stochastic annotation
// error for medical image segmentation". The meta mask has the logit μ₀. Rater m prefers μ_m = μ₀ +
// r_m, and both are drawn with an error of their own at each pixel:
//
//	L = mean_m CE(σ(μ₀ + s₀ ε), z^m) + mean_m CE(σ(μ_m + s_m ε), z^m),  ε ~ N(0, 1)
//
// With features x, the entropy E of σ(μ₀) in bits, through which no gradient passes, and 1×1
// convolutions A, B:
//
//	r_m = B[(1 + E) ReLU(BN(A x)) ‖ μ₀],  s_m = |B[(1 + E) ReLU(BN(A x)) ‖ μ_m]|,  s₀ likewise with μ₀
//
// The consensus is σ(μ₀) and rater m's mask σ(μ_m), without errors. The authors draw ε for every
// pixel of the image. Here ε is drawn for every pixel of the maps of half the side, on which all
// heads are.
var padl = model.Method{
	Name: "padl", Title: "PADL (Liao 2024): a meta mask, each rater's preference, and a stochastic error of learned size", Raters: true, Draws: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		p := newPreferences(n, padlFeatures(n, m))
		own := byRater(n, pointwise.Sigmoid(p.own))
		if n.Draws > 0 {
			own = beside(own, drawnLogits(n, nil, "drawn masks", inTurn(n, p.own), inTurn(n, p.ownError)))
		}
		return pointwise.Sigmoid(p.meta), own
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		p := newPreferences(n, padlFeatures(n, m))
		drawn := func(name string, logits, error *tensor.Tensor) *tensor.Tensor {
			return byRater(n, drawnLogits(n, s, name, logits, error))
		}
		return pointwise.Sigmoid(p.meta), []model.Term{
			ratersTerm(s, n, "meta", drawn("errors of the meta mask", eachRater(n, p.meta), eachRater(n, p.metaError))),
			ratersTerm(s, n, "raters", drawn("errors of the raters", p.own, p.ownError)),
		}
	},
}

// drawnLogits is σ(logits + error ε), with ε ~ N(0, 1).
func drawnLogits(n *model.Network, s *model.Step, name string, logits, error *tensor.Tensor) *tensor.Tensor {
	return pointwise.Sigmoid(pointwise.Add(logits, pointwise.Multiply(error, normal(n, s, name, logits.Shape()...))))
}

// padlFeatures is x (B, S/2, S/2, ·), as wide as the decoder's last map.
func padlFeatures(n *model.Network, m model.Maps) *tensor.Tensor {
	return pointwise.ReLU(n.BatchNorm("padl.features.bn", n.Up("padl.features.up", last(m), last(m).Dim(-1), nil)))
}

// preferences are logits and the deviations of their errors: μ₀ and s₀ (B, h, w, K), every rater's
// μ_m and s_m (B, h, w, M·K).
type preferences struct{ meta, metaError, own, ownError *tensor.Tensor }

func newPreferences(n *model.Network, x *tensor.Tensor) (p preferences) {
	p.meta = n.Conv("padl.meta", x, 1, n.Classes, 1, 0, true, false)
	doubt := entropy(pointwise.Sigmoid(p.meta.Detach()))
	// head is B[(1 + E) ReLU(BN(A x)) ‖ logits] of a number of people, each with A and B of his
	// own.
	head := func(name string, people int, doubt, logits *tensor.Tensor) *tensor.Tensor {
		reduced := n.Conv("padl."+name+".reduction", x, 1, people*n.Classes, 1, 0, false, false)
		reduced = pointwise.ReLU(n.BatchNorm("padl."+name+".bn", reduced))
		reduced = pointwise.Add(reduced, pointwise.Multiply(doubt, reduced))
		b, h, w := x.Dim(0), x.Dim(1), x.Dim(2)
		beside := func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(b, h, w*people, n.Classes) }
		both := pointwise.Concat(beside(reduced), beside(logits)).Reshape(b, h, w, people*2*n.Classes)
		return n.GroupedLinear("padl."+name+".output", both, people, n.Classes)
	}
	p.metaError = pointwise.Abs(head("error", 1, doubt, p.meta))
	each, doubts := eachRater(n, p.meta), eachRater(n, doubt)
	p.own = pointwise.Add(head("preference", n.Raters, doubts, each), each)
	p.ownError = pointwise.Abs(head("errors", n.Raters, doubts, p.own))
	return p
}

// entropy is −p log₂ p − (1 − p) log₂(1 − p) of maps p (B, h, w, C).
func entropy(p *tensor.Tensor) *tensor.Tensor {
	q := complement(p)
	of := func(p *tensor.Tensor) *tensor.Tensor {
		return pointwise.Multiply(p, pointwise.ClampLog(p, model.Lowest, 1))
	}
	return pointwise.Scale(pointwise.Add(of(p), of(q)), -1/math.Ln2)
}
