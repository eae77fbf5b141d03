package model

import (
	"slices"

	"mrprism/model/nn"
	"mrprism/shaders/gpu"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// Step is Algorithm 1 as a graph: one training step on a batch of B images of side S. Its tensors
// are inputs, except those in Terms, Recurrence and Features.
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
	Own     *tensor.Tensor // (B, 1, K), weights of L_sff: 0 where no rater has marked; nil without shuffles

	Panels *tensor.Tensor // (B, 1, 1, P), shares of the panels who marked the image, less 1/P; nil without panels

	Shuffles [][]raters.Reweighting // [recurrence][reweighting]
	Scale    *tensor.Tensor         // (1), multiplies the loss before its gradients are taken; nil: Execution needs none

	// Of recipes that settle around given marks; otherwise nil.
	Given   Given
	Target  *tensor.Tensor // (B, S/2, S/2, K), the mean of the marks that are not given
	Hidden  *tensor.Tensor // (B, S/2, S/2, M, K), the weights of the marks that are not given
	Asked   *tensor.Tensor // (B, 1, K), weights of a pixel of the settled mask: 0 in images without a given mark
	Spoil   Spoil
	Settled []State // after each pass

	feeds         []feed
	losses        []Term
	shuffleWeight float64 // a factor of Own
	Terms         []Terms // of each recurrence, then of each pass that settles
	Recurrence    []Pass
	Features      Features
}

// Spoil says how the logits are spoilt around which training settles: each map is multiplied by a
// number, and noise is added.
type Spoil struct {
	Keep, KeepRaters *tensor.Tensor // (B, 1, K) and (B, M, K)
	Mask, Raters     *tensor.Tensor // (B, S/2, S/2, K) and (B, S/8, S/8, M, K)
}

// Terms are the weighted losses of one recurrence: maps whose elements add up to a loss, or one
// element. A term that the recipe lacks is nil.
type Terms struct {
	Mask, Fusion, Shuffle, Heads, Fade, Dice, Evidence, Others *tensor.Tensor
	Method                                                     []Term // of a Method
}

// Term is a loss and its name.
type Term struct {
	Name  string
	Value *tensor.Tensor
}

// List has the terms that there are.
func (t Terms) List() (list []Term) {
	for _, term := range []Term{
		{"mask", t.Mask}, {"fusion", t.Fusion}, {"shuffle", t.Shuffle}, {"heads", t.Heads}, {"fade", t.Fade}, {"dice", t.Dice},
		{"evidence", t.Evidence}, {"others", t.Others},
	} {
		if term.Value != nil {
			list = append(list, term)
		}
	}
	return append(list, t.Method...)
}

// Pass has the maps of one recurrence. Fused is y_fuse after it.
type Pass struct {
	Half, Y, ZHat, Confidence, Fused *tensor.Tensor
	ConP                             ConPFeatures
}

// NewStep builds the losses of Algorithm 1 (PAPER.md §4), or those of the configuration's method.
func NewStep(set *tensor.Set, c Config, r Recipe, batch, side int) *Step {
	n := &Network{Config: c, Builder: &nn.Builder{Graph: tensor.NewGraph(), Set: set, Training: !r.Frozen && !r.Kept}}
	n.Graph.Normalise(c.Group)
	s := NewInputs(n.Graph, c, r, batch, side)
	if c.Panels > 0 {
		s.Panels = n.Graph.Input("panels", batch, 1, 1, c.Panels)
		n.shift = n.panelShift(s.Panels)
	}
	s.Features = n.Encoder(s.X)
	if c.Method != nil {
		s.learn(n, r)
		return s
	}
	w := s.steer(s.W0)
	fused := s.firstFusion(r.Rule, w)
	var likely *tensor.Tensor
	for i := range r.Recurrences {
		s.Graph.Pass(i + 1)
		var p Pass
		p.Half, p.Y, p.ConP = n.Converge(s.Features, w)
		terms := s.maskLosses(n, r, p.Y, fused.Detach())
		if r.Recurrent() {
			p.ZHat, likely = n.Diverge(p.Half)
			estimate := ResizeRaters(p.ZHat, side)
			if n.Anchored {
				fine := pointwise.Sigmoid(n.begun(p.ConP.Logits, likely).Raters)
				estimate = ResizeRaters(fine.Reshape(batch, side/2, side/2, c.Raters, c.Classes), side)
			}
			p.Confidence = n.Part(func() *tensor.Tensor { return s.confidence(r.Rule, estimate, p.Y) })
			fused = raters.Fuse(s.steer(p.Confidence), s.Z, s.Valid)
			s.raterLosses(&terms, n, r, p, estimate, fused)
			w = s.steer(logConfidence(p.ZHat.Detach()))
		}
		p.Fused = fused
		s.Recurrence = append(s.Recurrence, p)
		if !r.Frozen {
			s.Terms = append(s.Terms, terms)
		}
	}
	s.Graph.Pass(0)
	if r.Settles > 0 {
		s.settleStep(n, r, s.Recurrence[len(s.Recurrence)-1].ConP.Logits, likely)
	}
	return s
}

// NewInputs makes the inputs that the recipe needs.
func NewInputs(g *tensor.Graph, c Config, r Recipe, batch, side int) *Step {
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
		Scale:   c.lossScale(g),
	}
	if r.Recurrent() && r.Shuffles() > 0 {
		s.Own = g.Input("own", batch, 1, k)
	}
	if r.Steered {
		s.Prior = g.Input("log prior", s.W0.Shape()...)
	}
	return s
}

// firstFusion is y_fuse before the first recurrence, under the initial log confidence w.
func (s *Step) firstFusion(rule Rule, w *tensor.Tensor) *tensor.Tensor {
	if rule == RuleMean {
		return raters.Fuse(s.Equal(), s.Z, s.Valid)
	}
	return raters.Fuse(ResizeRaters(w, s.Z.Dim(1)), s.Z, s.Valid)
}

// Equal is the confidence 0 of all raters, (B, S, S, M, K).
func (s *Step) Equal() *tensor.Tensor {
	return s.Graph.Constant("equal confidence", make([]float32, s.Z.Elements()), s.Z.Shape()...)
}

// maskLosses are the losses of the calibrated mask y against the fused labels, (B, S, S, K) each.
func (s *Step) maskLosses(n *Network, r Recipe, y, target *tensor.Tensor) (terms Terms) {
	if !r.NoSSIM {
		terms.Mask = n.Part(func() *tensor.Tensor { return weighMap(loss.SSIM(y, target), s.Present) })
	}
	if r.FadeWeight > 0 {
		terms.Fade = n.Part(func() *tensor.Tensor { return weighMap(loss.CrossEntropy(y, target, Lowest), s.Fade) })
	}
	terms.Dice = s.diceLoss(n, r, y, target)
	return terms
}

// diceLoss is the Dice loss of a mask y, nil without.
func (s *Step) diceLoss(n *Network, r Recipe, y, target *tensor.Tensor) *tensor.Tensor {
	if r.DiceWeight == 0 {
		return nil
	}
	return n.Part(func() *tensor.Tensor { return pointwise.Scale(s.meanDice(y, target), float32(r.DiceWeight)) })
}

// raterLosses adds the losses of DivP's estimate (B, S, S, M, K) and of the labels fused under it.
func (s *Step) raterLosses(terms *Terms, n *Network, r Recipe, p Pass, estimate, fused *tensor.Tensor) {
	if r.FuseLoss {
		terms.Fusion = n.Part(func() *tensor.Tensor { return weighMap(loss.SSIM(fused, p.Y.Detach()), s.Present) })
	}
	if r.Shuffles() > 0 {
		terms.Shuffle = s.shuffleLoss(n, r, estimate, p.Confidence.Detach())
	}
	if r.HeadsWeight > 0 {
		terms.Heads = n.Part(func() *tensor.Tensor {
			own := raters.Weigh(loss.CrossEntropy(estimate, s.Z, Lowest), s.Heads)
			if r.HeadsWeight != 1 {
				own = pointwise.Scale(own, float32(r.HeadsWeight))
			}
			return own
		})
	}
}

// steer adds the prior, if there is one, to log confidences (B, ·, ·, M, K).
func (s *Step) steer(confidence *tensor.Tensor) *tensor.Tensor {
	if s.Prior == nil {
		return confidence
	}
	prior := s.Prior
	if side := confidence.Dim(1); side != prior.Dim(1) {
		prior = ResizeRaters(prior, side)
	}
	return pointwise.Add(confidence, prior)
}

// confidence is ℓ (B, S, S, M, K) by the rule, from DivP's estimate at full size and the calibrated
// mask y.
func (s *Step) confidence(rule Rule, estimate, y *tensor.Tensor) *tensor.Tensor {
	inside := pointwise.Clamp(estimate, Lowest, 1-Lowest)
	switch rule {
	case RuleCode:
		return pointwise.ClampLog(inside, 0.1*Lowest, 1)
	case RuleLikelihood:
		return raters.LikelihoodRule(inside, s.Z, s.Valid, 4*float64(y.Dim(1))/256)
	case RuleAgreement:
		return raters.AgreementRule(inside, y.Detach())
	}
	return s.Equal()
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
	return n.Part(func() *tensor.Tensor {
		var total *tensor.Tensor
		own := pointwise.Clamp(estimate, Lowest, 1-Lowest)
		if r.Threshold {
			own = pointwise.Threshold(estimate, 0.5)
		}
		for _, shuffle := range shuffles {
			reweighted := raters.Shuffle(confidence, shuffle)
			self := raters.Fuse(reweighted, own, s.Valid)
			target := raters.Fuse(reweighted, s.Z, s.Valid)
			total = plus(total, loss.CrossEntropy(self, target, 0.01))
		}
		s.shuffleWeight = r.ShuffleWeight / float64(r.Shuffles())
		return weighMap(total, s.Own)
	})
}

// plus is a + b, or b if there is no a.
func plus(a, b *tensor.Tensor) *tensor.Tensor {
	if a == nil {
		return b
	}
	return pointwise.Add(a, b)
}

// weighMap multiplies a map (B, S, S, K) by the weights of its structures (B, 1, K).
func weighMap(x, weight *tensor.Tensor) *tensor.Tensor {
	return raters.Weigh(x.Reshape(x.Dim(0), x.Dim(1), x.Dim(2), 1, x.Dim(3)), weight)
}

// Mean sums a map (B, S, S, K) under the weights of its structures (B, 1, K).
func (s *Step) Mean(x, weight *tensor.Tensor) *tensor.Tensor {
	return pointwise.Sum(weighMap(x, weight))
}

// meanDice sums the Dice losses of the structures that a rater labelled in an image, and takes the
// mean over the images.
func (s *Step) meanDice(y, target *tensor.Tensor) *tensor.Tensor {
	losses := loss.Dice(y, target)
	images := losses.Reshape(losses.Dim(0), 1, 1, 1, losses.Dim(1))
	pixels := y.Dim(1) * y.Dim(2) // Present is the share of one pixel
	return pointwise.Scale(pointwise.Sum(raters.Weigh(images, s.Present)), float32(pixels))
}

// ResizeRaters enlarges maps (B, h, h, M, K) to side×side, bilinearly.
func ResizeRaters(x *tensor.Tensor, side int) *tensor.Tensor {
	b, h, w, m, k := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3), x.Dim(4)
	return pool.Resize(x.Reshape(b, h, w, m*k), side, side).Reshape(b, side, side, m, k)
}

// Losses are the terms, each summed over the recurrences and kept: Plan.Read can read them.
func (s *Step) Losses() []Term {
	if s.losses == nil {
		for _, terms := range s.Terms {
			for _, t := range terms.List() {
				i := slices.IndexFunc(s.losses, func(other Term) bool { return other.Name == t.Name })
				if i < 0 {
					s.losses = append(s.losses, t)
				} else {
					s.losses[i].Value = pointwise.Add(s.losses[i].Value, t.Value)
				}
			}
		}
		for i, t := range s.losses {
			if t.Value.Elements() > 1 {
				t.Value = pointwise.Sum(t.Value)
			}
			s.losses[i].Value = t.Value.Keep()
		}
	}
	return s.losses
}

// Loss is the sum of all terms, kept as they are.
func (s *Step) Loss() *tensor.Tensor {
	var total *tensor.Tensor
	for _, t := range s.Losses() {
		total = plus(total, t.Value)
	}
	return total.Keep()
}
