package rivals

import (
	"slices"

	"mrprism/model"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// hypotheses has as many heads as there are raters, and shows each image's drawn label to the head
// that fits it best (Rupprecht et al. 2017, "Learning in an uncertain world", equation 7, the LUW
// of the paper): the best head has the weight 1 − ε, the others share ε. The best is chosen by a
// softmax of the heads' log-likelihoods of the whole mask, which is a choice but for ties. In each
// step and image a head is left out with probability 1 % (section 3.3), so that the weaker ones are
// the best at times. The consensus is the mean of all heads.
var hypotheses = model.Method{
	Name: "luw", Title: "multiple hypotheses (Rupprecht 2017): the head that fits a drawn label best learns it",
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		heads := ratersHead(n, "luw.heads", last(m))
		return meanHead(n, heads), nil
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		heads := ratersHead(n, "luw.heads", last(m))
		return meanHead(n, heads), []model.Term{{Name: "best", Value: n.Part(func() *tensor.Tensor { return bestOf(s, n, model.ResizeRaters(heads, s.Z.Dim(1))) })}}
	},
}

const (
	luwShare = 0.05 // ε
	luwDrop  = 0.01 // probability that a head is left out
)

// meanHead is the mean of all heads (B, h, w, M, K).
func meanHead(n *model.Network, heads *tensor.Tensor) *tensor.Tensor {
	flat := heads.Reshape(heads.Dim(0), heads.Dim(1), heads.Dim(2), n.Raters*n.Classes)
	return pointwise.Scale(allRaters(n, flat), 1/float32(n.Raters))
}

// bestOf is the loss of the heads (B, S, S, M, K) against a drawn label.
func bestOf(s *model.Step, n *model.Network, heads *tensor.Tensor) *tensor.Tensor {
	b, side := s.Z.Dim(0), s.Z.Dim(1)
	all := loss.CrossEntropy(heads, byRater(n, eachRater(n, drawnLabel(s, n))), model.Lowest).Reshape(b, side, side, n.Raters*n.Classes)
	each := imageMean(all).Reshape(b, 1, 1, n.Raters, n.Classes)

	known := s.Feed("heads that are shown", func(_ *model.Batch, draws model.Draws) []float32 {
		return drawHeads(n.Raters, n.Classes, draws)
	}, s.Valid.Shape()...)
	best := raters.Fuse(pointwise.Scale(each.Detach(), -float32(side*side)), each, known)
	mean := raters.Fuse(pointwise.Scale(each.Detach(), 0), each, known)
	spread := float32(luwShare)
	if n.Raters > 1 {
		spread *= float32(n.Raters) / float32(n.Raters-1)
	}
	mixed := pointwise.Add(pointwise.Scale(best, 1-spread), pointwise.Scale(mean, spread))
	return pointwise.Scale(s.Mean(mixed, s.Present), float32(side*side))
}

// drawHeads draws the heads that are shown a label, for each image: 1 for them in (B, M, K), 0 for
// the others. A single head always is.
func drawHeads(heads, classes int, draws model.Draws) (shown []float32) {
	for _, random := range draws {
		for range heads {
			one := float32(1)
			if heads > 1 && random.Float64() < luwDrop {
				one = 0
			}
			shown = append(shown, slices.Repeat([]float32{one}, classes)...)
		}
	}
	return shown
}
