package rivals

import (
	"slices"

	"mrprism/model"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// maxMIG is Max-MIG (Cao et al. 2019), "Max-MIG: an information theoretic approach for joint
// learning from crowds", equations 2 to 5. The network h and the crowd's aggregator
//
//	g = softmax(Σ_m W_m z^m + log π)
//
// learn to tell what they say of the same pixel from what they say of two pixels. With
// K_ij = Σ_c h_i,c g_j,c / π_c the gain is mean_i log K_ii − mean_ij K_ij + 1, a bound of their
// mutual information. The mean over all pairs is a product of two means. π is the structures'
// share of pixels. In the authors' code W_m starts at log P(z^m | votes), with the mean votes of the
// data set for the truth. Here running means of the batches stand for these, and what is learned
// is added.
var maxMIG = model.Method{
	Name: "maxmig", Title: "Max-MIG (Cao 2019): network and crowd tell each other most about a pixel", Crowd: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		return mask(n, m), nil
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, _ := n.Method.Predict(n, m)
		g := crowd(s, n) // not in the part, which may run twice: this moves the means
		return y, []model.Term{{Name: "information", Value: n.Part(func() *tensor.Tensor { return lessInformation(s, n, model.Enlarge(y), g) })}}
	},
}

// crowd is g (B, S, S, K).
func crowd(s *model.Step, n *model.Network) *tensor.Tensor {
	marked, unmarked := crowdEvidence(n)
	see(s, n, newSeenMarks(n, "maxmig"), meanVote(s))
	votes := allRaters(n, known(s, n, affine(marks(s, n), less(marked, unmarked), unmarked)))
	prior := make([]float32, n.Classes)
	for k := range prior {
		prior[k] = float32(n.AreaLogit(k))
	}
	one := s.Graph.Constant("one", slices.Repeat([]float32{1}, n.Classes), n.Classes)
	return pointwise.Sigmoid(affine(votes, one, s.Graph.Constant("log prior", prior, n.Classes)))
}

// crowdEvidence is what a mark and its absence say for the inside, (M·K). Each is a difference of
// two elements of W_m, which Adam moves apart at twice the rate of one.
func crowdEvidence(n *model.Network) (marked, unmarked *tensor.Tensor) {
	marked, unmarked = newSeenMarks(n, "maxmig").evidence()
	learned := func(name string) *tensor.Tensor {
		x := n.Parameter("maxmig.learned."+name, zero, n.Raters*n.Classes)
		n.Set.Lookup("maxmig.learned." + name).Rate = 2
		return x
	}
	return pointwise.Add(marked, learned("marked")), pointwise.Add(unmarked, learned("unmarked"))
}

// lessInformation is mean K_ij − mean log K_ii − 1, summed over the structures.
func lessInformation(s *model.Step, n *model.Network, h, g *tensor.Tensor) *tensor.Tensor {
	var inside, outside []float32
	for k := range n.Classes {
		share := pointwise.Logistic(n.AreaLogit(k))
		inside, outside = append(inside, float32(1/share)), append(outside, float32(1/(1-share)))
	}
	nothing := s.Graph.Constant("none", make([]float32, n.Classes), n.Classes)
	weigh := func(x *tensor.Tensor, by []float32) *tensor.Tensor {
		return affine(x, s.Graph.Constant("1/prior", by, n.Classes), nothing)
	}
	both := func(h, g, notH, notG *tensor.Tensor) *tensor.Tensor {
		return pointwise.Add(weigh(pointwise.Multiply(h, g), inside), weigh(pointwise.Multiply(notH, notG), outside))
	}
	notH, notG := complement(h), complement(g)
	same := s.Mean(pointwise.ClampLog(both(h, g, notH, notG), model.Lowest, 1/model.Lowest), s.Present)
	pairs := pointwise.Sum(both(pixelMean(h), pixelMean(g), pixelMean(notH), pixelMean(notG)))
	return less(pairs, pointwise.Affine(same, 1, float32(n.Classes)))
}
