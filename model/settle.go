package model

import (
	"mrprism/shaders/conv"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// Given is what is known of raters' marks, as maps at S/2. g is the share of a pixel about which
// the rater has said something, 0 to 1, and z is what he said, 0 or 1.
type Given struct {
	Share *tensor.Tensor // g of each rater, (B, S/2, S/2, M·K); nil with Levels
	Mark  *tensor.Tensor // g(2z − 1) of each rater, likewise
	Any   *tensor.Tensor // (B, 1, K), 1 where anybody has said anything about the image, otherwise 0

	// With n = Σ g over all who mark, also people beside the raters, and c = PriorRaters: c/(c + n),
	// Σ g z/(c + n) and Σ g(1 − z)/(c + n), each (B, S/2, S/2, K).
	Prior, For, Against *tensor.Tensor
}

// PriorRaters is the number of raters for whom the network's mask counts beside given marks: the
// mean of a Beta distribution after the marks is (c ỹ + Σ g z)/(c + n). DECISIONS.md has its origin.
const PriorRaters = 2.5

// newGiven makes the inputs of what is given.
func newGiven(g *tensor.Graph, c Config, batch, side int) Given {
	half, mk := side/2, c.Raters*c.Classes
	total := func(name string) *tensor.Tensor { return g.Input(name, batch, half, half, c.Classes) }
	given := Given{Any: g.Input("anything given", batch, 1, c.Classes), Prior: total("prior"), For: total("for"), Against: total("against")}
	if !c.Levels {
		given.Share, given.Mark = g.Input("given", batch, half, half, mk), g.Input("given marks", batch, half, half, mk)
	}
	return given
}

// nothingGiven is Given where nobody has said anything, as constants. Any is nil: no mask changes.
func nothingGiven(g *tensor.Graph, c Config, side int) Given {
	none := func(channels int) *tensor.Tensor {
		return g.Constant("nothing given", make([]float32, side*side/4*channels), 1, side/2, side/2, channels)
	}
	given := Given{For: none(c.Classes), Against: none(c.Classes)}
	if !c.Levels {
		given.Share, given.Mark = none(c.Raters*c.Classes), none(c.Raters*c.Classes)
	}
	return given
}

// State is what settles: the logits of the mask, (B, S/2, S/2, K), and of the raters' likely
// labels, (B, S/2, S/2, M·K).
type State struct{ Mask, Raters *tensor.Tensor }

// begun is the state that ConP and DivP made: the logits of the mask, (B, S/2, S/2, K), and DivP's,
// (B, S/8, S/8, ·), which stand for the raters or, if Anchored, are added to the mask's. No gradient
// flows from the raters' loss into the mask.
func (n *Network) begun(mask, likely *tensor.Tensor) State {
	b, side := mask.Dim(0), mask.Dim(1)
	raters := pool.Resize(likely.Reshape(b, likely.Dim(1), likely.Dim(2), n.Raters*n.Classes), side, side)
	if n.Anchored {
		raters = pointwise.Add(raters, tiled(mask.Detach(), n.Raters))
	}
	return State{mask, raters}
}

// tiled is a map (B, h, w, K) n times beside itself, (B, h, w, n·K).
func tiled(x *tensor.Tensor, n int) *tensor.Tensor {
	all := x
	for range n - 1 {
		all = pointwise.Concat(all, x)
	}
	return all
}

// Widths of Settle's maps at S/2, S/4, S/8 and S/16, and of the encoder's map that it sees.
const (
	settleFine, settleWide, settleMiddle, settleCoarse = 8, 16, 24, 32
	settleEdges                                        = 8
)

// surest limits the logits that Settle reads.
const surest = 8

// edges is what Settle sees of the image: the encoder's map at S/4, narrowed. No gradient passes
// through that map.
func (n *Network) edges(f Features) *tensor.Tensor {
	return n.Conv("settle.edges", f.E[1].Detach(), 1, settleEdges, 1, 0, true, false)
}

// Settle is a pass around what is given: a small U-Net adds to the logits of mask and raters. A
// given z̃ is clamped to the mark in every pass. The mask changes only where Any is 1. A later pass
// teaches an earlier one through the sum, and not through what the U-Net sees.
func (n *Network) Settle(from State, edges *tensor.Tensor, given Given) State {
	seen := pointwise.Concat(pointwise.Scale(pointwise.Clamp(from.Mask.Detach(), -surest, surest), 0.25), pointwise.Concat(given.For, given.Against))
	all, likely := seen, pointwise.Sigmoid(from.Raters.Detach())
	if given.Share != nil {
		all = pointwise.Concat(seen, pointwise.Concat(given.Share, given.Mark))
		if given.Any != nil {
			likely = clampGiven(likely, given)
		}
	}
	block := func(name string, x *tensor.Tensor, width, stride int) *tensor.Tensor {
		return pointwise.ReLU(n.Conv("settle."+name, x, 3, width, stride, 1, true, false))
	}
	double := func(x *tensor.Tensor) *tensor.Tensor { return pool.Resize(x, 2*x.Dim(1), 2*x.Dim(2)) }

	x4 := block("down2", pointwise.Concat(block("down1", all, settleWide, 2), edges), settleWide, 1)
	likely = pool.Average(likely, 4, 4, conv.Window{StrideY: 4, StrideX: 4})
	x8 := block("down4", pointwise.Concat(block("down3", x4, settleMiddle, 2), likely), settleMiddle, 1)
	x16 := block("down6", block("down5", x8, settleCoarse, 2), settleCoarse, 1)
	x8 = block("up1", pointwise.Concat(double(x16), x8), settleMiddle, 1)
	x4 = block("up2", pointwise.Concat(double(x8), x4), settleWide, 1)
	x2 := pointwise.ReLU(n.Up("settle.up3", x4, settleFine, nil))
	mask, others := pointwise.Split(n.Change("settle.change", pointwise.Concat(x2, seen), 3, n.Classes*(1+n.Raters)), n.Classes)
	return State{given.where(from.Mask, mask), pointwise.Add(from.Raters, others)}
}

// where is x, and x + change in images about which something is given.
func (given Given) where(x, change *tensor.Tensor) *tensor.Tensor {
	if given.Any == nil {
		return x
	}
	b, h, w, k := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	return pointwise.Add(x, raters.Weigh(change.Reshape(b, h, w, 1, k), given.Any).Reshape(b, h, w, k))
}

// begin is the state from which passes settle: the logits of the mask become those of the mean of a
// Beta distribution whose prior is the mask and whose observations are the given marks.
func (given Given) begin(made State) State {
	in := pointwise.Add(pointwise.Multiply(given.Prior, pointwise.Sigmoid(made.Mask)), given.For)
	out := pointwise.Add(pointwise.Multiply(given.Prior, pointwise.Sigmoid(pointwise.Scale(made.Mask, -1))), given.Against)
	change := pointwise.Add(pointwise.ClampLog(in, Lowest, 1), pointwise.Scale(pointwise.ClampLog(out, Lowest, 1), -1))
	return State{given.where(made.Mask, pointwise.Add(change, pointwise.Scale(made.Mask, -1))), made.Raters}
}

// clampGiven is (1 − g) z̃ + g z.
func clampGiven(likely *tensor.Tensor, given Given) *tensor.Tensor {
	kept := pointwise.Add(likely, pointwise.Scale(pointwise.Multiply(given.Share, likely), -1))
	return pointwise.Add(kept, pointwise.Scale(pointwise.Add(given.Share, given.Mark), 0.5))
}

// settleStep adds the passes that settle to a training step, on what ConP and DivP made, through
// which no gradient passes. Half of the images have spoilt logits: a network knows its training
// images too well to leave anything to repair.
func (s *Step) settleStep(n *Network, r Recipe, mask, likely *tensor.Tensor) {
	b, half, m, k := mask.Dim(0), mask.Dim(1), n.Raters, n.Classes
	g := s.Graph
	s.Given = newGiven(g, n.Config, b, 2*half)
	s.Target, s.Hidden, s.Asked = g.Input("target", b, half, half, k), g.Input("hidden", b, half, half, m, k), g.Input("asked", b, 1, k)
	s.Spoil = Spoil{
		Keep: g.Input("kept logits", b, 1, k), Mask: g.Input("spoilt mask", b, half, half, k),
		KeepRaters: g.Input("kept raters", b, m, k), Raters: g.Input("spoilt raters", b, half/4, half/4, m, k),
	}
	spoilt := func(logits, keep, noise *tensor.Tensor, people int) *tensor.Tensor {
		kept := raters.Weigh(logits.Detach().Reshape(b, logits.Dim(1), logits.Dim(2), people, k), keep)
		return pointwise.Add(kept.Reshape(noise.Shape()...), noise)
	}
	state := s.Given.begin(n.begun(spoilt(mask, s.Spoil.Keep, s.Spoil.Mask, 1), spoilt(likely, s.Spoil.KeepRaters, s.Spoil.Raters, m)))
	labels := pool.Average(s.Z.Reshape(b, 2*half, 2*half, m*k), 2, 2, conv.Window{StrideY: 2, StrideX: 2}).Reshape(b, half, half, m, k)
	edges := n.edges(s.Features)
	for pass := range r.Settles {
		state = n.Settle(state, edges, s.Given)
		s.Settled = append(s.Settled, state)
		share := float32(pass+1) * 2 / float32(r.Settles*(r.Settles+1)) // later passes count more; all add up to 1
		likely := pointwise.Sigmoid(state.Raters).Reshape(labels.Shape()...)
		s.Terms = append(s.Terms, Terms{
			Evidence: pointwise.Scale(weighMap(loss.CrossEntropy(pointwise.Sigmoid(state.Mask), s.Target, Lowest), s.Asked), share),
			Others:   pointwise.Scale(pointwise.Multiply(loss.CrossEntropy(likely, labels, Lowest), s.Hidden), share),
		})
	}
}
