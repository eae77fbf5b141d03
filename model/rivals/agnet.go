package rivals

import (
	"fmt"
	"slices"

	"mrprism/model"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

// agNet is AG-Net (Zhang et al. 2019), "Attention guided network for retinal image segmentation",
// sections 2.1 to 2.3. On the way from encoder to decoder a guided filter stands: from the
// decoder's map O and the encoder's map I of twice its side it makes Ô = a I + b, which has the
// edges of I. I↓ is I at O's side. In each window w_k of 5×5 pixels of it, a and b minimise
//
//	Σ_{i∈w_k} T_i² (a I↓_i + b − O_i)² + λ a²   (equation 1)
//
// and each pixel has their mean over its windows. T = σ(ψ ReLU(θ I↓ + φ O)) is the attention
// (section 2.2). Each of the decoder's four stages has a side output p_s. With p, the mean of all,
//
//	L = CE(p, z) + Σ_s CE(p_s, z),  z the mean vote.
//
// The mask is the last side output, as in the authors' evaluation.
//
// The paper's encoder takes the image at four scales, and its decoder has Ô alone. The common
// encoder takes one scale: here the others join I. The common stage merges Ô with its own enlarged
// O.
var agNet = model.Method{
	Name: "agnet", Title: "AG-Net (Zhang 2019): guided filters with attention, four scales, a loss for each stage",
	Decode:  guidedDecoder,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) { return mask(n, m), nil },
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (y *tensor.Tensor, terms []model.Term) {
		mean, sides := sideOutputs(n, m)
		vote := meanVote(s)
		terms = append(terms, maskTerm(s, n, "mean", pointwise.Sigmoid(mean), vote))
		for i, side := range sides {
			y = pointwise.Sigmoid(side)
			terms = append(terms, maskTerm(s, n, fmt.Sprintf("side%d", i+1), y, vote))
		}
		return y, terms
	},
}

const (
	guidedRadius = 2    // of the filter's windows
	guidedDamp   = 1e-2 // λ, for means in place of the window's sums
	guidedLeast  = 1e-2 // ε, added to T², so that no window is without weight
)

// guidedDecoder is the common decoder whose stages merge filtered maps.
func guidedDecoder(n *model.Network, image *tensor.Tensor, f model.Features, w *tensor.Tensor) (stages [4]*tensor.Tensor) {
	embedded, x := n.Embed(w), f.F
	for i := range stages {
		from, name := x, fmt.Sprintf("agnet.stage%d", i+1)
		filtered := n.Part(func() *tensor.Tensor { return guide(n, name, from, scaled(n, name, image, f.E[4-i])) })
		x = n.Part(func() *tensor.Tensor { return n.Stage(i, from, embedded[i], filtered) })
		stages[i] = x
	}
	return stages
}

// scaled adds the image, at the side of the encoder's map e, to e. Beside the encoder's own there
// are three scales: a fourth, the smallest, shows nothing more.
func scaled(n *model.Network, name string, image, e *tensor.Tensor) *tensor.Tensor {
	r := image.Dim(1) / e.Dim(1)
	if r > 16 {
		return e
	}
	small := pool.Average(image, r, r, conv.Square(r, 0))
	return pointwise.Add(e, pointwise.ReLU(n.BatchNorm(name+".scale.bn", n.Conv(name+".scale.conv", small, 3, e.Dim(-1), 1, 1, false, false))))
}

// guide makes the filtered map (B, 2h, 2w, C) of the decoder's map x (B, h, w, ·) and the guide (B,
// 2h, 2w, C).
func guide(n *model.Network, name string, x, guide *tensor.Tensor) *tensor.Tensor {
	c := guide.Dim(-1)
	small := pool.Average(guide, 2, 2, conv.Square(2, 0))
	own := n.Conv(name+".own", x, 1, c, 1, 0, true, false)
	theta, phi := n.Conv(name+".theta", small, 1, c, 1, 0, true, false), n.Conv(name+".phi", own, 1, c, 1, 0, true, false)
	psi := n.Conv(name+".psi", pointwise.ReLU(pointwise.Add(theta, phi)), 1, 1, 1, 0, true, false)
	all := n.Graph.Constant("all channels", slices.Repeat([]float32{1}, c), 1, c)
	return guidedFilter(own, small, guide, pointwise.Sigmoid(conv.Linear(psi, all, nil)))
}

// guidedFilter filters o (B, h, w, C) by the guide (B, 2h, 2w, C), which small is at o's side,
// under the attention t (B, h, w, C). The weights are q = T² + ε. With S, X, Y, XY and XX, the
// means over the window of q, qI↓, qO, qI↓O and qI↓²,
//
//	a = (S·XY − X·Y) / (S·XX − X² + λS),  b = (Y − aX) / S.
func guidedFilter(o, small, guide, t *tensor.Tensor) *tensor.Tensor {
	box := func(x *tensor.Tensor) *tensor.Tensor {
		return pool.Average(x, 2*guidedRadius+1, 2*guidedRadius+1, conv.Square(1, guidedRadius))
	}
	times := pointwise.Multiply
	weigh := func(by, x *tensor.Tensor) *tensor.Tensor { // (by + ε) x
		return pointwise.Add(times(by, x), pointwise.Scale(x, guidedLeast))
	}
	t = times(t, t)
	qx, qy := weigh(t, small), weigh(t, o)
	s, x, y := box(t), box(qx), box(qy) // s is S − ε
	spread := pointwise.Add(less(weigh(s, box(times(qx, small))), times(x, x)), pointwise.Scale(s, guidedDamp))
	a := times(less(weigh(s, box(times(qx, o))), times(x, y)), inverse(spread, guidedDamp*guidedLeast))
	b := times(less(y, times(a, x)), inverse(s, guidedLeast))
	return pointwise.Add(times(model.Enlarge(box(a)), guide), model.Enlarge(box(b)))
}

// sideOutputs are the logits (B, S/2, S/2, K) of the four stages, the last by the common head, and
// their mean.
func sideOutputs(n *model.Network, m model.Maps) (mean *tensor.Tensor, sides []*tensor.Tensor) {
	half := m.X.Dim(1) / 2
	for i, x := range m.Decoder[:3] {
		side := n.Up(fmt.Sprintf("agnet.side%d", i+1), x, n.Classes, n.AreaLogit)
		sides = append(sides, pool.Resize(side, half, half))
	}
	sides = append(sides, n.MaskHead(last(m)))
	sum := sides[0]
	for _, side := range sides[1:] {
		sum = pointwise.Add(sum, side)
	}
	return pointwise.Scale(sum, 0.25), sides
}
