package rivals

import (
	"mrprism/model"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// pOSAL is pOSAL (Wang et al., IEEE TMI 2019), "Patch-based output space adversarial learning for
// joint optic disc and cup segmentation", section III. The morphology-aware loss is Dice and
// smoothness:
//
//	L = Σ(p − y)²/(Σp² + Σy²) + mean_x Σ_{i∈N4(x)} B(x, i) y_x |p_x − p_i| + λ BCE(D(p), 1)
//
// The first term is 1 − 2Σpy/(Σp² + Σy²), the Dice loss of the authors' code. B is 1 where both
// pixels have one label, so that y_x B(x, i) = y_x y_i; the labels of this term are the majority's.
// The discriminator D judges patches of the masks, L_D = BCE(D(y), 1) + BCE(D(p), 0). In the paper
// it tells predictions on a labelled domain from those on another; here there is one domain, and it
// tells the mean vote y from the prediction p. Both players share one optimiser.
var pOSAL = model.Method{
	Name: "posal", Title: "pOSAL (Wang 2019): Dice, smoothness and a discriminator of the masks' patches",
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) { return mask(n, m), nil },
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, vote := mask(n, m), meanVote(s)
		terms := []model.Term{
			{Name: "dice", Value: n.Part(func() *tensor.Tensor { return squaredDice(s, model.Enlarge(y), vote.Detach()) })},
			{Name: "smoothness", Value: n.Part(func() *tensor.Tensor { return roughness(s, model.Enlarge(y), majority(vote)) })},
		}
		return y, append(terms, play(s, n, contest{"posal.of_mask", labelled(s, halfSize(vote)), labelled(s, y)})...)
	},
}

// squaredDice is Σ(p − y)²/(Σp² + Σy²) of an image and structure. It is summed over the
// structures that a rater labelled, and averaged over the images. p and y are (B, S, S, K). If y is soft, the best p
// is y.
func squaredDice(s *model.Step, p, y *tensor.Tensor) *tensor.Tensor {
	square := func(x *tensor.Tensor) *tensor.Tensor { return pointwise.Multiply(x, x) }
	pixels := float32(p.Dim(1) * p.Dim(2)) // Present is the share of one
	both := imageMean(pointwise.Add(square(p), square(y)))
	losses := pointwise.Multiply(imageMean(square(less(p, y))), inverse(both, 1/pixels))
	return pointwise.Scale(s.Mean(losses, s.Present), pixels)
}

// roughness sums |p_x − p_i| over pixels x and their neighbours i where both are inside, p and
// label (B, S, S, K). Each pair counts twice, once for either pixel.
func roughness(s *model.Step, p, label *tensor.Tensor) *tensor.Tensor {
	b, side, k := p.Dim(0), p.Dim(1), p.Dim(3)
	across := []int{b, side, side, k}   // neighbours in a row
	down := []int{b, 1, side, side * k} // rows are the neighbours
	var total *tensor.Tensor
	for _, shape := range [][]int{across, down} {
		pair := func(x *tensor.Tensor) (first, second *tensor.Tensor) {
			x = x.Reshape(shape...)
			return pointwise.Slice(x, 0, side-1), pointwise.Slice(x, 1, side)
		}
		p1, p2 := pair(p)
		l1, l2 := pair(label)
		counted := pointwise.Multiply(pointwise.Abs(less(p1, p2)), pointwise.Multiply(l1, l2))
		sum := s.Mean(counted.Reshape(b, counted.Elements()/(b*side*k), side, k), s.Present)
		if total != nil {
			sum = pointwise.Add(total, sum)
		}
		total = sum
	}
	return pointwise.Scale(total, 2)
}
