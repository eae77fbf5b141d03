package rivals

import (
	"fmt"

	"mrprism/model"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// contest is what a discriminator sees: real maps and made ones, (B, S/2, S/2, C) each.
type contest struct {
	name       string
	real, made *tensor.Tensor
}

// adversaryWeight is λ of the network's loss, in BEAL and pOSAL alike.
const adversaryWeight = 0.01

// A discriminator's weights start as draws of N(0, judgeStart²). Their learning rate is the share
// judgeRate of the network's, as 2.5e-5 beside 1e-3 in BEAL's code. pOSAL's code has 1e-5.
const (
	judgeStart = 0.02
	judgeRate  = 1. / 40
)

// play is one step of both players (Goodfellow et al. 2014). With the discriminator D and BCE over
// its patches, it appends
//
//	discriminator  BCE(D(real), 1) + BCE(D(made), 0), by D alone: maps pass no gradient
//	adversary      λ BCE(D(made), 1), by the network alone: the parameters of this D get none
func play(s *model.Step, n *model.Network, contests ...contest) []model.Term {
	var own, fooled *tensor.Tensor
	add := func(sum, x *tensor.Tensor) *tensor.Tensor {
		if sum == nil {
			return x
		}
		return pointwise.Add(sum, x)
	}
	for _, c := range contests {
		still := *n.Builder
		still.Detached = true
		frozen := &model.Network{Config: n.Config, Builder: &still}
		own = add(own, verdict(s, discriminate(n, c.name, c.real.Detach()), 1))
		own = add(own, verdict(s, discriminate(n, c.name, c.made.Detach()), 0))
		fooled = add(fooled, verdict(s, discriminate(frozen, c.name, c.made), 1))
	}
	return []model.Term{{Name: "discriminator", Value: own}, {Name: "adversary", Value: pointwise.Scale(fooled, adversaryWeight)}}
}

// discriminate gives the logit that a patch of maps x is real: five convolutions 4×4 of stride 2,
// with leaky ReLUs of slope 0.2 between them. They have 64, 128, 256, 512 and 1 channels if the
// encoder starts with 32.
func discriminate(n *model.Network, name string, x *tensor.Tensor) *tensor.Tensor {
	judge := func(i, out int) *tensor.Tensor {
		layer := fmt.Sprintf("%s.%d", name, i)
		w := weight(n, layer, judgeStart, 4, 4, x.Dim(-1), out)
		n.Set.Lookup(layer + ".weight").Rate = judgeRate
		return conv.Conv2D(x, w, nil, conv.Same(4, 2))
	}
	for i := range 4 {
		x = judge(i, n.Stem<<(i+1))
		x = pointwise.Add(pointwise.Scale(x, 0.2), pointwise.Scale(pointwise.ReLU(x), 0.8))
	}
	return judge(4, 1)
}

// verdict is the mean cross-entropy of logits x against one label, 0 or 1: of log(1 + exp(z)) with
// z = x or −x, as ReLU(z) − log σ(|x|). A clamped probability would pass no gradient to a
// discriminator that is sure and wrong, and so would end the play.
func verdict(s *model.Step, x *tensor.Tensor, label float32) *tensor.Tensor {
	wrong := pointwise.ReLU(pointwise.Scale(x, 1-2*label))
	doubt := pointwise.ClampLog(pointwise.Sigmoid(pointwise.Abs(x)), 0.5, 1)
	return pointwise.Scale(pointwise.Sum(less(wrong, doubt)), 1/float32(x.Elements()))
}

// labelled is maps x (B, h, w, K) with zeros where nobody labelled the structure.
func labelled(s *model.Step, x *tensor.Tensor) *tensor.Tensor {
	b, h, w, k := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	known := raters.Weigh(x.Reshape(b, h, w, 1, k), s.Present).Reshape(b, h, w, k)
	return pointwise.Scale(known, float32(s.X.Elements()/3)) // Present is the share of a pixel
}

// majority is 1 where more than half of the raters mark, (B, S, S, K).
func majority(vote *tensor.Tensor) *tensor.Tensor { return pointwise.Threshold(vote, 0.5).Detach() }

// halfSize is x at half the side.
func halfSize(x *tensor.Tensor) *tensor.Tensor { return pool.Average(x, 2, 2, conv.Square(2, 0)) }
