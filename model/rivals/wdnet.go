package rivals

import (
	"mrprism/model"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// wdNet is the Weighted Doctor Net of Guan et al. (2018), "Who said what: modeling individual
// labelers improves classification", sections 3.2 and 3.3. Each rater has a head p_m. The consensus
// weighs the heads by w = softmax(a):
//
//	L = mean_m CE(p_m, z^m) + CE(Σ_m w_m p_m, mean_m z^m)
//
// The paper learns a on heads that have learned. Here both learn at once. The second loss teaches a
// alone, so the heads learn as in the paper.
var wdNet = model.Method{
	Name: "wdnet", Title: "Weighted Doctor Net (Guan 2018): a head for each rater, and learned weights of the heads", Raters: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		rated = ratersHead(n, "wdnet.heads", last(m))
		return weighHeads(n, rated), rated
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		rated := ratersHead(n, "wdnet.heads", last(m))
		y := weighHeads(n, rated.Detach())
		return y, []model.Term{ratersTerm(s, n, "heads", rated), maskTerm(s, n, "weights", y, meanVote(s))}
	},
}

// weighHeads is Σ_m w_m p_m of all heads (B, h, w, M, K): (B, h, w, K).
func weighHeads(n *model.Network, rated *tensor.Tensor) *tensor.Tensor {
	a := n.Parameter("wdnet.weights", zero, n.Raters, n.Classes)
	return raters.Fuse(everywhere(rated, a), rated, allKnown(n, rated.Dim(0)))
}
