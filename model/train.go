package model

import (
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/nn"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
)

// Step is Algorithm 1 as a graph: one training step on a batch of B images of side S. The exported
// tensors are inputs, except those in Terms, Recurrence and Features.
type Step struct {
	Graph *tensor.Graph

	X     *tensor.Tensor // (B, S, S, 3), normalised
	Z     *tensor.Tensor // (B, S, S, M, K), 0 or 1
	Valid *tensor.Tensor // (B, M, K), 1 where a label exists
	W0    *tensor.Tensor // (B, S/8, S/8, M, K), log confidence, without the prior
	Prior *tensor.Tensor // (B, S/8, S/8, M, K), log ψ of Steered recipes, otherwise nil

	// The weights of a pixel of structure k of image b in the losses.
	Present *tensor.Tensor // (B, 1, K), of fused maps
	Fade    *tensor.Tensor // (B, 1, K), of the fading cross-entropy
	Heads   *tensor.Tensor // (B, M, K), of raters' maps
	Own     *tensor.Tensor // (B, 1, K), of L_sff: 0 for structures that no rater has marked; nil without shuffles

	Shuffles [][]raters.Reweighting // [recurrence][reweighting]
	Scale    *tensor.Tensor         // (1), in F16: multiplies the loss before its gradients are taken; otherwise nil
	seed     *tensor.Tensor

	Terms      []Terms // of each recurrence
	Recurrence []Pass
	Features   Features
}

// Terms are the losses of one recurrence, already weighted, of one element each. A term that the
// recipe lacks is nil.
type Terms struct{ Mask, Fusion, Shuffle, Heads, Fade, Dice *tensor.Tensor }

// Pass has the maps of one recurrence. Fused is y_fuse after it.
type Pass struct {
	Half, Y, ZHat, Confidence, Fused *tensor.Tensor
	ConP                             ConPFeatures
}

// LossScale is a first value of Scale, from PyTorch's GradScaler.
const LossScale = 1 << 16

// NewStep builds the losses of Algorithm 1 (PAPER.md §4). In precision F16, Backward stores the
// network's maps and their gradients as halves (Micikevicius et al. 2018). Parameters, their
// gradients, losses and statistics stay F32.
func NewStep(set *tensor.Set, c Config, r Recipe, batch, side int) *Step {
	g := tensor.NewGraph()
	n := Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set, Training: true}}
	m, k := c.Raters, c.Classes
	s := &Step{
		Graph:   g,
		X:       g.Input("x", batch, side, side, 3),
		Z:       g.Input("z", batch, side, side, m, k),
		Valid:   g.Input("valid", batch, m, k),
		W0:      g.Input("w0", batch, side/8, side/8, m, k),
		Present: g.Input("present", batch, 1, k),
		Fade:    g.Input("fade", batch, 1, k),
		Heads:   g.Input("heads", batch, m, k),
	}
	if r.Recurrent() && r.Shuffles() > 0 {
		s.Own = g.Input("own", batch, 1, k)
	}
	if c.Precision == F16 {
		s.Scale = g.Input("loss scale", 1)
		s.seed = s.Scale
	} else {
		s.seed = g.Constant("seed", []float32{1}, 1)
	}
	if r.Steered {
		s.Prior = g.Input("log prior", s.W0.Shape()...)
	}

	f := n.Encoder(s.X)
	s.Features = f
	w := s.steer(s.W0)
	var equal, fused *tensor.Tensor
	if r.Rule == RuleMean {
		equal = g.Constant("equal confidence", make([]float32, s.Z.Elements()), s.Z.Shape()...)
		fused = raters.Fuse(equal, s.Z, s.Valid)
	} else {
		fused = raters.Fuse(resizeRaters(w, side), s.Z, s.Valid)
	}
	for range r.Recurrences {
		var p Pass
		p.Half, p.Y, p.ConP = n.Converge(f, w)
		target := fused.Detach()
		var terms Terms
		if !r.NoSSIM {
			terms.Mask = n.part(func() *tensor.Tensor { return s.mean(loss.SSIM(p.Y, target), s.Present) })
		}
		if r.FadeWeight > 0 {
			terms.Fade = n.part(func() *tensor.Tensor { return s.mean(loss.CrossEntropy(p.Y, target, lowest), s.Fade) })
		}
		if r.DiceWeight > 0 {
			terms.Dice = n.part(func() *tensor.Tensor { return pointwise.Scale(s.meanDice(p.Y, target), float32(r.DiceWeight)) })
		}
		if r.Recurrent() {
			p.ZHat = n.Diverge(p.Half)
			estimate := resizeRaters(p.ZHat, side)
			p.Confidence = n.part(func() *tensor.Tensor { return confidence(r.Rule, estimate, s, p.Y, equal) })
			fused = raters.Fuse(s.steer(p.Confidence), s.Z, s.Valid)
			if r.FuseLoss {
				from := fused
				terms.Fusion = n.part(func() *tensor.Tensor { return s.mean(loss.SSIM(from, p.Y.Detach()), s.Present) })
			}
			if r.Shuffles() > 0 {
				terms.Shuffle = s.shuffleLoss(&n, r, estimate, p.Confidence.Detach())
			}
			if r.HeadsWeight > 0 {
				terms.Heads = n.part(func() *tensor.Tensor {
					own := raters.Weigh(loss.CrossEntropy(estimate, s.Z, lowest), s.Heads)
					return pointwise.Scale(pointwise.Sum(own), float32(r.HeadsWeight))
				})
			}
			w = s.steer(logConfidence(p.ZHat.Detach()))
		}
		p.Fused = fused
		s.Recurrence = append(s.Recurrence, p)
		s.Terms = append(s.Terms, terms)
	}
	return s
}

// steer adds the prior, if there is one, to log confidences (B, ·, ·, M, K).
func (s *Step) steer(confidence *tensor.Tensor) *tensor.Tensor {
	if s.Prior == nil {
		return confidence
	}
	prior := s.Prior
	if side := confidence.Dim(1); side != prior.Dim(1) {
		prior = resizeRaters(prior, side)
	}
	return pointwise.Add(confidence, prior)
}

// confidence is ℓ (B, S, S, M, K) by the recipe's rule, from DivP's estimate at full size.
// RuleMean gives equal.
func confidence(rule Rule, estimate *tensor.Tensor, s *Step, y, equal *tensor.Tensor) *tensor.Tensor {
	inside := pointwise.Clamp(estimate, lowest, 1-lowest)
	switch rule {
	case RuleCode:
		return pointwise.ClampLog(inside, 0.1*lowest, 1)
	case RuleLikelihood:
		return raters.LikelihoodRule(inside, s.Z, s.Valid, 4*float64(y.Dim(1))/256)
	case RuleAgreement:
		return raters.AgreementRule(inside, y.Detach())
	}
	return equal
}

// shuffleLoss is L_sff: under reweighted confidences, the fused estimates should equal the fused
// labels (PAPER.md §3.8).
func (s *Step) shuffleLoss(n *Network, r Recipe, estimate, confidence *tensor.Tensor) *tensor.Tensor {
	m := s.Valid.Dim(1)
	var shuffles []raters.Reweighting
	for range r.Shuffles() {
		shuffles = append(shuffles, raters.Reweighting{
			Order: s.Graph.InputOf(gpu.U32, "order", m), Scale: s.Graph.Input("scale", m), Offset: s.Graph.Input("offset", m),
		})
	}
	s.Shuffles = append(s.Shuffles, shuffles)
	total := n.part(func() (total *tensor.Tensor) {
		own := pointwise.Clamp(estimate, lowest, 1-lowest)
		if r.Threshold {
			own = pointwise.Threshold(estimate, 0.5)
		}
		for _, shuffle := range shuffles {
			reweighted := raters.Shuffle(confidence, shuffle)
			self := raters.Fuse(reweighted, own, s.Valid)
			target := raters.Fuse(reweighted, s.Z, s.Valid)
			loss := s.mean(loss.CrossEntropy(self, target, 0.01), s.Own)
			if total != nil {
				loss = pointwise.Add(total, loss)
			}
			total = loss
		}
		return total
	})
	return pointwise.Scale(total, float32(r.ShuffleWeight/float64(r.Shuffles())))
}

// mean sums a map (B, S, S, K) under the weights of its structures (B, 1, K).
func (s *Step) mean(x, weight *tensor.Tensor) *tensor.Tensor {
	maps := x.Reshape(x.Dim(0), x.Dim(1), x.Dim(2), 1, x.Dim(3))
	return pointwise.Sum(raters.Weigh(maps, weight))
}

// meanDice sums the Dice losses of the structures that a rater labelled in an image, and takes the
// mean over the images.
func (s *Step) meanDice(y, target *tensor.Tensor) *tensor.Tensor {
	losses := loss.Dice(y, target)
	images := losses.Reshape(losses.Dim(0), 1, 1, 1, losses.Dim(1))
	pixels := y.Dim(1) * y.Dim(2) // Present is the share of one pixel
	return pointwise.Scale(pointwise.Sum(raters.Weigh(images, s.Present)), float32(pixels))
}

// resizeRaters enlarges maps (B, h, h, M, K) to side×side, bilinearly.
func resizeRaters(x *tensor.Tensor, side int) *tensor.Tensor {
	b, h, w, m, k := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3), x.Dim(4)
	return pool.Resize(x.Reshape(b, h, w, m*k), side, side).Reshape(b, side, side, m, k)
}

// Loss sums all terms and keeps the sum: Plan.Read can read it.
func (s *Step) Loss() *tensor.Tensor {
	var total *tensor.Tensor
	for _, terms := range s.Terms {
		for _, t := range []*tensor.Tensor{terms.Mask, terms.Fusion, terms.Shuffle, terms.Heads, terms.Fade, terms.Dice} {
			switch {
			case t == nil:
			case total == nil:
				total = t
			default:
				total = pointwise.Add(total, t)
			}
		}
	}
	return total.Keep()
}

// Backward appends the gradients of the loss.
func (s *Step) Backward(loss *tensor.Tensor) {
	shaders.Simplify(s.Graph)
	if s.Scale != nil {
		shaders.StoreHalves(s.Graph)
	}
	s.Graph.Backward(loss, s.seed)
}
