package model

import (
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/pointwise"
)

// crowdLayer is the crowd layer of Rodrigues & Pereira (2018), "Deep learning from crowds", variant
// MW: a matrix W_m of each rater maps the consensus to what the rater would mark,
//
//	u_m = W_m p,  L = mean_m CE(softmax(u_m), z^m),  W_m starts as the identity.
//
// With two classes the softmax of W_m (p, 1 − p) is σ(a_m p + b_m), where a_m and b_m are sums of
// the four elements: the identity is a = 2, b = −1.
var crowdLayer = Method{
	Name: "cl", Title: "crowd layer (Rodrigues & Pereira 2018): a linear map from the consensus to each rater", Raters: true,
	Predict: func(n *Network, m Maps) (y, rated *tensor.Tensor) {
		y = n.mask(m)
		return y, n.crowdLayer(y)
	},
	Learn: trains(func(n *Network, s *Step, m Maps) (*tensor.Tensor, []Term) {
		y, rated := n.Method.Predict(n, m)
		return y, []Term{s.ratersTerm(n, "raters", rated)}
	}),
}

// crowdLayer is every rater's mask σ(a_m y + b_m), (B, h, w, M, K).
func (n *Network) crowdLayer(y *tensor.Tensor) *tensor.Tensor {
	a, b := n.Parameter("cl.factor", always(2), n.Raters*n.Classes), n.Parameter("cl.shift", always(-1), n.Raters*n.Classes)
	return n.byRater(pointwise.Sigmoid(affine(n.eachRater(y), a, b)))
}
