package rivals

import (
	"math"

	"mrprism/model"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

// beal is BEAL (Wang et al., MICCAI 2019), "Boundary and entropy-driven adversarial learning for
// fundus image segmentation", equations 1 to 6. A boundary branch predicts p_b, and the mask's
// branch reads it beside the decoder's map. Two discriminators see boundaries, and entropies −p log
// p:
//
//	L = CE(p, y) + mean (p_b − y_b)² + λ Σ BCE(D(made), 1),  L_D = Σ BCE(D(real), 1) + BCE(D(made), 0)
//
// y is the mean vote, and y_b the blurred band around the majority's outline. In the paper "real"
// are predictions on images of a labelled domain, and "made" those of another. Here there is one
// domain: "real" are the maps of the labels, y_b and −y log y. Every structure has a boundary map
// of its own. Both players share one optimiser, Adam.
var beal = model.Method{
	Name: "beal", Title: "BEAL (Wang 2019): discriminators of boundary maps and of entropy maps",
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		y, _ = boundaryBranch(n, m)
		return y, nil
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, edge := boundaryBranch(n, m)
		vote := meanVote(s)
		band := boundary(majority(vote))
		apart := less(model.Enlarge(edge), band)
		terms := []model.Term{maskTerm(s, n, "mask", y, vote), {Name: "boundary", Value: s.Mean(pointwise.Multiply(apart, apart), s.Present)}}
		return y, append(terms, play(s, n,
			contest{"beal.of_boundary", labelled(s, halfSize(band)), labelled(s, edge)},
			contest{"beal.of_entropy", labelled(s, uncertainty(halfSize(vote))), labelled(s, uncertainty(y))},
		)...)
	},
}

// boundaryBranch gives the mask and the boundary map, probabilities (B, S/2, S/2, K). The mask
// reads the boundary's logits after batch norm and ReLU, as in the authors' decoder. One
// convolution of the joined maps is the sum of one of each, and starts as one.
func boundaryBranch(n *model.Network, m model.Maps) (y, edge *tensor.Tensor) {
	x := last(m)
	inner := n.Conv("beal.boundary.conv", x, 3, x.Dim(-1), 1, 1, false, false)
	edge = n.Up("beal.boundary.head", pointwise.ReLU(n.BatchNorm("beal.boundary.bn", inner)), n.Classes, n.AreaLogit)
	read := weight(n, "beal.mask", math.Sqrt(2/float64(x.Dim(-1)+n.Classes)), n.Classes, n.Classes)
	mask := pointwise.Add(n.MaskHead(x), conv.Linear(pointwise.ReLU(n.BatchNorm("beal.mask.bn", edge)), read, nil))
	return pointwise.Sigmoid(mask), pointwise.Sigmoid(edge)
}

// boundary is the band of pixels near the outline of masks (B, S, S, K), 0 or 1, blurred by a
// Gaussian. In images of 512 pixels the band reaches 5 pixels to either side, and σ is 3.
func boundary(mask *tensor.Tensor) *tensor.Tensor {
	width := max(1, mask.Dim(1)*5/512)
	largest := func(x *tensor.Tensor) *tensor.Tensor { return pool.Max(x, 2*width+1, 2*width+1, conv.Square(1, width)) }
	band := less(largest(mask), complement(largest(complement(mask))))
	return pool.GaussianBlur(band, 0.6*float64(width), 2*width)
}

// uncertainty is −p log p.
func uncertainty(p *tensor.Tensor) *tensor.Tensor {
	return pointwise.Scale(pointwise.Multiply(p, pointwise.ClampLog(p, model.Lowest, 1)), -1)
}
