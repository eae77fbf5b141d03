package rivals

import (
	"fmt"

	"mrprism/model"
	"mrprism/shaders/conv"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// diagnosisFirst is Wu et al. (2022), "Calibrate the inter-observer segmentation uncertainty via
// diagnosis-first principle": raters are fused under the pixel-wise weights by which a diagnosis
// network D is surest of the truth, and the mask learns the fused labels. With c the confidences of
// a network R on the decoder's last map, d the diagnosis and z̄ the mean vote
//
//	t = Σ_m softmax_m(c) z^m
//	L = CE(D(x, t), d) by R alone + ½ [CE(D(x, t), d) + CE(D(x, z̄), d)] by D alone + CE(y, t)
//
// The paper first trains D, then optimises c image by image, and then trains the mask. Here all
// three learn in each step, and R gives c, so that no optimisation runs inside another.
var diagnosisFirst = model.Method{
	Name: "diag", Title: "diagnosis first (Wu 2022): raters' weights under which a diagnosis is surest", Crowd: true, Diagnosed: true, Trusts: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		return mask(n, m), pointwise.Sigmoid(trust(n, last(m)))
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y := mask(n, m)
		fused, terms := fuseForDiagnosis(s, n, last(m).Detach())
		return y, append(terms, maskTerm(s, n, "mask", y, fused))
	},
}

// fuseForDiagnosis is t (B, S, S, K) with the losses of R and D. R sees the map last (B, S/4, S/4,
// C).
func fuseForDiagnosis(s *model.Step, n *model.Network, last *tensor.Tensor) (fused *tensor.Tensor, terms []model.Term) {
	images := s.X.Dim(0)
	known := s.Feed("diagnosis", func(b *model.Batch, _ model.Draws) []float32 { return b.Diagnosis }, images, 1)
	fused = raters.Fuse(model.ResizeRaters(trust(n, last), s.Z.Dim(1)), s.Z, s.Valid)

	still := *n.Builder
	still.Detached = true
	frozen := &model.Network{Config: n.Config, Builder: &still}
	cost := func(by *model.Network, mask *tensor.Tensor, weight float64) *tensor.Tensor {
		return pointwise.Scale(pointwise.Sum(loss.CrossEntropy(diagnosis(by, s.X, mask), known, model.Lowest)), float32(weight/float64(images)))
	}
	own := pointwise.Add(cost(n, fused.Detach(), 0.5), cost(n, meanVote(s), 0.5))
	return fused, []model.Term{{Name: "diagnosis", Value: own}, {Name: "trust", Value: cost(frozen, fused, 1)}}
}

// trust is R: the confidences c (B, S/4, S/4, M, K), of the map last (B, S/4, S/4, C).
func trust(n *model.Network, last *tensor.Tensor) *tensor.Tensor {
	seen := pointwise.ReLU(n.Conv("diag.trust.1", last, 3, 16, 1, 1, true, false))
	return byRater(n, n.Conv("diag.trust.2", seen, 1, n.Raters*n.Classes, 1, 0, true, false))
}

// diagnosis is D: the probability (B, 1) of a positive diagnosis of images x (B, S, S, 3) with
// masks (B, S, S, K). Four convolutions of stride 2 precede the mean over pixels.
func diagnosis(n *model.Network, x, mask *tensor.Tensor) *tensor.Tensor {
	half := func(x *tensor.Tensor) *tensor.Tensor { return pool.Average(x, 2, 2, conv.Square(2, 0)) }
	seen := pointwise.Concat(half(x), half(mask))
	for i, width := range []int{16, 32, 48, 64} {
		seen = pointwise.ReLU(n.Conv(fmt.Sprintf("diag.classifier.%d", i), seen, 3, width, 2, 1, true, false))
	}
	mean := pool.Average(seen, seen.Dim(1), seen.Dim(2), conv.Square(1, 0))
	return pointwise.Sigmoid(n.Linear("diag.classifier.output", mean.Reshape(x.Dim(0), mean.Dim(-1)), 1, true))
}
