package rivals

import (
	"mrprism/model"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// crowdLayer is the crowd layer of Rodrigues & Pereira (2018), "Deep learning from crowds", variant
// MW: a matrix W_m of each rater maps the consensus to what the rater would mark,
//
//	u_m = W_m p,  L = mean_m CE(softmax(u_m), z^m),  W_m starts as the identity.
//
// With two classes the softmax of W_m (p, 1 − p) is σ(a_m p + b_m), where a_m and b_m are sums of
// the four elements. The elements are the parameters, as in the authors' code: Adam moves each as
// far in a step, and so a four times as far and b twice.
var crowdLayer = model.Method{
	Name: "cl", Title: "crowd layer (Rodrigues & Pereira 2018): a linear map from the consensus to each rater", Raters: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		y = mask(n, m)
		return y, crowdMasks(n, y)
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, rated := n.Method.Predict(n, m)
		return y, []model.Term{ratersTerm(s, n, "raters", rated)}
	},
}

// crowdMasks is every rater's mask σ(a_m y + b_m), (B, h, w, M, K).
func crowdMasks(n *model.Network, y *tensor.Tensor) *tensor.Tensor {
	factor, shift := crowdWeights(n)
	return byRater(n, pointwise.Sigmoid(affine(eachRater(n, y), factor, shift)))
}

// crowdWeights are all a_m and b_m, (M·K).
func crowdWeights(n *model.Network) (factor, shift *tensor.Tensor) {
	element := func(name string, start float64) *tensor.Tensor {
		return n.Parameter("cl.weight."+name, always(start), n.Raters*n.Classes)
	}
	inside := less(element("marked_inside", 1), element("unmarked_inside", 0))
	shift = less(element("marked_outside", 0), element("unmarked_outside", 1))
	return less(inside, shift), shift
}
