package rivals

import (
	"fmt"
	"math"
	"slices"

	"mrprism/model"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// mrNet is Ji et al. (2021), "Learning calibrated medical image segmentation via multi-rater
// agreement modeling", sections 3.1 to 3.3. The expertness V, Σ_m V_m = 1, is the state of a step
// of a ConvLSTM on the bridge's map. The decoder then makes the coarse mask c. From image and c a
// branch of its own makes every rater's mask r_m, and a last part refines c. The last part sees the
// decoder's features x under soft attention to c and to the raters' deviation u = std_m r_m:
//
//	y = σ(conv [x (1 + soft(a))] of all a in c, u),  soft(a) = max(a, minmax(a ∗ G))
//	L = CE(c, t) + mean_m CE(r_m, z^m) + CE(y, t),  t = Σ_m V_m z^m
//
// G is learned and starts as a Gaussian of 31×31 pixels. No gradient passes from a part to the one
// before. The paper takes three V a step, random, of one rater and uniform, with weights 2, 1 and
// 3. Here each image draws one of the three kinds with these odds, which has the same mean. V is
// given for each structure, since a rater may have left one out; inference takes the uniform V. The
// branch is a VGG-16 in the paper, and a small U-Net here. The paper's consistency loss is left
// out: in the authors' code it passes no gradient.
var mrNet = model.Method{
	Name: "mrnet", Title: "MRNet (Ji 2021): expertness into a ConvLSTM, raters' masks, and attention to their deviation", Raters: true,
	Condition: func(n *model.Network, s *model.Step, f model.Features) (model.Features, *tensor.Tensor) {
		v := pointwise.Scale(allKnown(n, f.F.Dim(0)), 1/float32(n.Raters)) // V (B, M, K), uniform
		if s != nil {
			draw := func(b *model.Batch, d model.Draws) []float32 { return drawExpertness(b.Valid, n.Raters, n.Classes, d) }
			v = s.Feed("expertness", draw, s.Valid.Shape()...)
		}
		f.F = heed(n, "mrnet", f.F, v)
		return f, v
	},
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		coarse := mask(n, m)
		rated = reconstruct(n, m.X, coarse, m.Given)
		return refine(n, refinedFeatures(n, last(m)), coarse, rated), rated
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		coarse := mask(n, m)
		rated := reconstruct(n, m.X, coarse.Detach(), m.Given)
		y := refine(n, refinedFeatures(n, last(m).Detach()), coarse.Detach(), rated.Detach())
		own := raters.Weigh(s.Z, m.Given)
		target := allRaters(n, own.Reshape(own.Dim(0), own.Dim(1), own.Dim(2), n.Raters*n.Classes))
		return y, []model.Term{maskTerm(s, n, "coarse", coarse, target), ratersTerm(s, n, "raters", rated), maskTerm(s, n, "mask", y, target)}
	},
}

// drawExpertness draws V (B, M, K) among those who labelled each structure by valid (B, M, K): of
// six images two have weights of 1 to 10, one has one rater, and three all alike.
func drawExpertness(valid []float32, people, classes int, draws model.Draws) []float32 {
	drawn := make([]float32, len(valid))
	for i, random := range draws {
		image := i * people * classes
		kind, order := random.IntN(6), random.Perm(people)
		for k := range classes {
			sum := float32(0)
			for _, m := range order {
				weight := valid[image+m*classes+k]
				if kind < 2 {
					weight *= float32(1 + random.IntN(10))
				} else if kind == 2 && sum > 0 {
					weight = 0
				}
				drawn[image+m*classes+k], sum = weight, sum+weight
			}
			for m := range people {
				drawn[image+m*classes+k] /= max(sum, 1)
			}
		}
	}
	return drawn
}

// heed is x (B, h, w, C) after a step of a ConvLSTM whose hidden and cell states are convolutions
// of V (B, M, K).
func heed(n *model.Network, name string, x, v *tensor.Tensor) *tensor.Tensor {
	state := n.Conv(name+".state", spread(v, x.Dim(0), x.Dim(1), x.Dim(2)), 3, x.Dim(-1), 1, 1, true, false)
	return n.LSTMStep(name+".lstm", x, state, state)
}

// reconstruct is every rater's mask (B, S/2, S/2, M, K) from the image (B, S, S, 3), the coarse
// mask (B, S/2, S/2, K) and V: a U-Net.
func reconstruct(n *model.Network, image, coarse, v *tensor.Tensor) *tensor.Tensor {
	x, skips := pointwise.Concat(pool.Average(image, 2, 2, conv.Square(2, 0)), coarse), []*tensor.Tensor(nil)
	for i, width := range []int{16, 24, 32, 48} { // at S/2 to S/16
		x = block(n, fmt.Sprintf("mrnet.raters.down%d", i+1), x, width, 1+min(i, 1))
		skips = append(skips, x)
	}
	x = heed(n, "mrnet.raters", x, v)
	for i := 2; i >= 0; i-- {
		x = block(n, fmt.Sprintf("mrnet.raters.up%d", i+1), pointwise.Concat(model.Enlarge(x), skips[i]), skips[i].Dim(-1), 1)
	}
	return byRater(n, pointwise.Sigmoid(n.Conv("mrnet.raters.output", x, 1, n.Raters*n.Classes, 1, 0, true, false)))
}

// refinedFeatures is x (B, S/2, S/2, C) of the decoder's last map (B, S/4, S/4, C).
func refinedFeatures(n *model.Network, last *tensor.Tensor) *tensor.Tensor {
	c := last.Dim(-1)
	x := pointwise.ReLU(n.BatchNorm("mrnet.refine.bn", n.Up("mrnet.refine.up", last, c, nil)))
	return block(n, "mrnet.refine.2", block(n, "mrnet.refine.1", x, c, 1), c, 1)
}

// refine is y (B, h, w, K) from features x (B, h, w, C), the coarse mask (B, h, w, K) and the
// raters' masks (B, h, w, M, K).
func refine(n *model.Network, x, coarse, rated *tensor.Tensor) *tensor.Tensor {
	k, c := n.Classes, x.Dim(-1)
	all := pointwise.Concat(coarse, deviation(n, rated))
	channels := n.Graph.Constant("channels", slices.Repeat([]float32{1}, 2*k*c), 2*k, 1, c)
	soft := conv.GroupedLinear(soften(n, all), channels, nil) // a map stands C times beside itself
	wide := repeated(x, 2*k)
	seen := pointwise.Add(wide, pointwise.Multiply(wide, soft))
	return pointwise.Sigmoid(n.Conv("mrnet.refine.output", seen, 3, k, 1, 1, true, false))
}

// deviation is u (B, h, w, K) of the raters' masks (B, h, w, M, K), of the sample as PyTorch's std.
func deviation(n *model.Network, rated *tensor.Tensor) *tensor.Tensor {
	all := rated.Reshape(rated.Dim(0), rated.Dim(1), rated.Dim(2), n.Raters*n.Classes)
	off := less(all, eachRater(n, meanHead(n, rated)))
	return root(pointwise.Scale(allRaters(n, pointwise.Multiply(off, off)), 1/float32(max(1, n.Raters-1))))
}

const mrNetSide, mrNetSigma = 31, 5.3 // of G, in pixels

// soften is soft(a) of maps a (B, h, w, C), which share G.
func soften(n *model.Network, a *tensor.Tensor) *tensor.Tensor {
	b, h, w, c := a.Dim(0), a.Dim(1), a.Dim(2), a.Dim(3)
	g := n.Parameter("mrnet.refine.gaussian", window, mrNetSide*mrNetSide, 1)
	wide := conv.Linear(g, n.Graph.Constant("all maps", slices.Repeat([]float32{1}, c), 1, c), nil)
	blurred := conv.DepthwiseConv2D(a, wide.Reshape(mrNetSide, mrNetSide, c), nil, conv.Square(1, mrNetSide/2))
	least := pointwise.Scale(pool.Max(pointwise.Scale(blurred, -1), h, w, conv.Square(1, 0)), -1)
	span := less(pool.Max(blurred, h, w, conv.Square(1, 0)), least)
	scaled := pointwise.Multiply(less(blurred, spread(least, b, h, w)), spread(inverse(span, 1e-6), b, h, w))
	return pointwise.Add(a, pointwise.ReLU(less(scaled, a)))
}

// window is G at the start, near the authors': a Gaussian whose weights add to 1.
func window(i int) float64 {
	y, x := float64(i/mrNetSide-mrNetSide/2), float64(i%mrNetSide-mrNetSide/2)
	return math.Exp(-(x*x+y*y)/(2*mrNetSigma*mrNetSigma)) / (2 * math.Pi * mrNetSigma * mrNetSigma)
}
