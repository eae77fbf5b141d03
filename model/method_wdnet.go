package model

import (
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
var wdNet = Method{
	Name: "wdnet", Title: titled("Weighted Doctor Net (Guan 2018): a head for each rater, and learned weights of the heads"), Raters: true,
	Predict: func(n *Network, m Maps) (y, rated *tensor.Tensor) {
		rated = n.ratersHead("wdnet.heads", m.last())
		return n.weighHeads(rated), rated
	},
	Learn: trains(func(n *Network, s *Step, m Maps) (*tensor.Tensor, []Term) {
		rated := n.ratersHead("wdnet.heads", m.last())
		y := n.weighHeads(rated.Detach())
		return y, []Term{s.ratersTerm(n, "heads", rated), s.maskTerm(n, "weights", y, s.meanVote())}
	}),
}

// weighHeads is Σ_m w_m p_m of all heads (B, h, w, M, K): (B, h, w, K).
func (n *Network) weighHeads(rated *tensor.Tensor) *tensor.Tensor {
	a := n.Parameter("wdnet.weights", zero, n.Raters, n.Classes)
	return raters.Fuse(everywhere(rated, a), rated, n.allKnown(rated.Dim(0)))
}
