package rivals

import (
	"mrprism/model"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// randomRater shows the network the mask of one rater at a time, drawn anew for each image and step
// (Jensen et al. 2019, "Improving uncertainty estimation in convolutional neural networks using
// inter-rater agreement"). The paper calls it UECNN.
var randomRater = model.Method{
	Name: "uecnn", Title: "label sampling (Jensen 2019): the mask of one rater, drawn in each step",
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		return mask(n, m), nil
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, _ := n.Method.Predict(n, m)
		return y, []model.Term{maskTerm(s, n, "mask", y, drawnLabel(s, n))}
	},
}

// drawnLabel is the label of a rater, drawn evenly among those who labelled the structure: (B, S,
// S, K). It is 0 where nobody did.
func drawnLabel(s *model.Step, n *model.Network) *tensor.Tensor {
	drawn := s.Feed("drawn raters", func(b *model.Batch, draws model.Draws) []float32 {
		return drawRaters(b.Valid, n.Raters, n.Classes, draws)
	}, s.Valid.Shape()...)
	own := raters.Weigh(s.Z, drawn)
	return allRaters(n, own.Reshape(own.Dim(0), own.Dim(1), own.Dim(2), n.Raters*n.Classes))
}

// drawRaters draws one rater for each image and structure: 1 for him in (B, M, K), 0 for the
// others.
func drawRaters(valid []float32, raters, classes int, draws model.Draws) []float32 {
	drawn := make([]float32, len(valid))
	for i, random := range draws {
		image := i * raters * classes
		for k := range classes {
			chosen, seen := -1, 0
			for m := range raters {
				if at := image + m*classes + k; valid[at] > 0 {
					if seen++; random.IntN(seen) == 0 {
						chosen = at
					}
				}
			}
			if chosen >= 0 {
				drawn[chosen] = 1
			}
		}
	}
	return drawn
}
