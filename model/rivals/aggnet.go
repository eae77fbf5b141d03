package rivals

import (
	"mrprism/model"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// aggNet is AggNet (Albarqouni et al. 2016), "Deep learning from crowds for mitosis detection in
// breast cancer histology images", equations 4 to 8: expectation–maximisation with the network as
// the prior. For each structure
//
//	E  μ = σ(logit p + Σ_m log P(z^m | inside) − log P(z^m | outside))
//	M  P(z^m = 1 | inside) = Σ μ z^m / Σ μ, P(z^m = 1 | outside) = Σ (1 − μ) z^m / Σ (1 − μ)
//	   L = CE(p, μ)
//
// The paper takes the M step's sums over the data set once an epoch. Here running means of the
// batches stand for them. In the first tenth of the run μ is the mean vote.
var aggNet = model.Method{
	Name: "aggnet", Title: "AggNet (Albarqouni 2016): expectation–maximisation with the network as the prior", Crowd: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		return mask(n, m), nil
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, _ := n.Method.Predict(n, m)
		trust := s.Feed("trust in the estimate", func(b *model.Batch, _ model.Draws) []float32 {
			trusted := make([]float32, s.Present.Elements())
			for i := range trusted {
				if b.Progress >= aggNetWarmUp {
					trusted[i] = 1
				}
			}
			return trusted
		}, s.Present.Shape()...)
		vote := meanVote(s)
		estimate := expectation(s, n, model.Enlarge(y).Detach())
		change := less(estimate, vote)
		b, side, k := vote.Dim(0), vote.Dim(1), vote.Dim(3)
		trusted := raters.Weigh(change.Reshape(b, side, side, 1, k), trust).Reshape(vote.Shape()...)
		return y, []model.Term{maskTerm(s, n, "mask", y, pointwise.Add(vote, trusted))}
	},
}

const (
	aggNetWarmUp = 0.1
	seenMemory   = 0.95 // of the running means, a batch
)

// expectation is μ (B, S, S, K) from the consensus p. It also takes the M step.
func expectation(s *model.Step, n *model.Network, p *tensor.Tensor) *tensor.Tensor {
	seen := newSeenMarks(n, "aggnet")
	marked, unmarked := seen.evidence()
	evidence := allRaters(n, known(s, n, affine(marks(s, n), less(marked, unmarked), unmarked)))
	logit := less(pointwise.ClampLog(p, model.Lowest, 1), pointwise.ClampLog(complement(p), model.Lowest, 1))
	estimate := pointwise.Sigmoid(pointwise.Add(logit, evidence))
	see(s, n, seen, estimate)
	return estimate
}

// seenMarks are running means over batches, (M·K): shares of pixels that are inside, inside and
// marked, outside, outside and marked.
type seenMarks struct{ in, markedIn, out, markedOut *tensor.Tensor }

// newSeenMarks makes the means of a method. They start at rates of 0.9 and 0.1.
func newSeenMarks(n *model.Network, method string) seenMarks {
	running := func(name string, start float64) *tensor.Tensor {
		return running(n, method+"."+name, start, n.Raters*n.Classes)
	}
	return seenMarks{running("inside", 0.1), running("marked_inside", 0.09), running("outside", 0.9), running("marked_outside", 0.09)}
}

// evidence is log P(z | inside) − log P(z | outside), (M·K), for z = 1 and for z = 0.
func (r seenMarks) evidence() (marked, unmarked *tensor.Tensor) {
	ratio := func(markedIn, markedOut *tensor.Tensor) *tensor.Tensor {
		log := func(x *tensor.Tensor) *tensor.Tensor { return pointwise.ClampLog(x, 1e-6, 1) }
		return pointwise.Add(less(log(markedIn), log(r.in)), less(log(r.out), log(markedOut)))
	}
	return ratio(r.markedIn, r.markedOut), ratio(less(r.in, r.markedIn), less(r.out, r.markedOut))
}

// see adds the batch to the means. The estimate (B, S, S, K) says what is inside.
func see(s *model.Step, n *model.Network, r seenMarks, estimate *tensor.Tensor) {
	marks := marks(s, n)
	inside, outside := known(s, n, eachRater(n, estimate)), known(s, n, complement(eachRater(n, estimate)))
	for _, mean := range []struct{ of, now *tensor.Tensor }{
		{r.in, inside}, {r.markedIn, pointwise.Multiply(inside, marks)}, {r.out, outside}, {r.markedOut, pointwise.Multiply(outside, marks)},
	} {
		now := pixelMean(mean.now).Reshape(mean.of.Shape()...)
		pointwise.Assign(mean.of, pointwise.Add(pointwise.Scale(mean.of, seenMemory), pointwise.Scale(now, 1-seenMemory)))
	}
}

// marks are all labels, (B, S, S, M·K).
func marks(s *model.Step, n *model.Network) *tensor.Tensor {
	return s.Z.Reshape(s.Z.Dim(0), s.Z.Dim(1), s.Z.Dim(2), n.Raters*n.Classes)
}

// known is 0 where a label is missing and x (B, S, S, M·K) elsewhere.
func known(s *model.Step, n *model.Network, x *tensor.Tensor) *tensor.Tensor {
	return raters.Weigh(byRater(n, x), s.Valid).Reshape(x.Shape()...)
}
