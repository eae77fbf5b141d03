package rivals

import (
	"fmt"
	"math/rand/v2"

	"mrprism/model"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// confusion estimates a confusion matrix A_m of each rater and structure, the same for all pixels
// (Tanno et al. 2019, "Learning from noisy labels by regularized estimation of annotator
// confusion", equation 4, with the constants of its listing):
//
//	L = Σ_m CE(A_m p, z^m) + λ mean_m tr(A_m)
//
// A column of A_m is the softplus of two parameters over their sum. They start at 1 on the diagonal
// and at −5 beside it, so that A_m starts near the identity. Here L is divided by the number of
// raters M. With two classes A_m has the rates α (marks what is inside) and β (marks what is
// outside): A_m p = β + (α − β) p and tr = α + 1 − β.
var confusion = model.Method{
	Name: "cm", Title: "confusion matrices (Tanno 2019): one of each rater, of least trace", Raters: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		y = mask(n, m)
		rated, _ = confuse(n, y)
		return y, rated
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y := mask(n, m)
		rated, traces := confuse(n, y)
		trace := pointwise.Scale(pointwise.Sum(traces), float32(traceWeight/float64(n.Raters*n.Raters)))
		return y, []model.Term{ratersTerm(s, n, "raters", rated), {Name: "trace", Value: trace}}
	},
}

// pixelConfusion estimates a confusion matrix of each rater at each pixel (Zhang et al. 2020,
// "Disentangling human error from the ground truth in segmentation of medical images", equation 5):
//
//	L = mean_m CE(A_m p, z^m) + λ mean_m tr(A_m)
//
// Four 3×3 convolutions on the decoder's last map, bilinearly enlarged, give the rates α and β, each
// σ of a map. The authors have four of them for each rater, and here the raters share them. A_m
// starts near the identity. In the first tenth of the run λ has the other sign and keeps A_m there.
// Later nothing keeps it: the trace is least where A_m is turned around, and p may leave a structure
// empty that all raters mark (brains of QUBIQ, also with a tenth of λ).
var pixelConfusion = model.Method{
	Name: "cm-pixel", Title: "confusion matrices of pixels (Zhang 2020): one of each rater at each pixel, of least trace", Raters: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		y, rated, _ = confusePixels(n, m)
		return y, rated
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		y, rated, traces := confusePixels(n, m)
		pixels := y.Dim(0) * y.Dim(1) * y.Dim(2)
		return y, []model.Term{ratersTerm(s, n, "raters", rated), traceTerm(s, traces, traceWeight/float64(n.Raters*pixels))}
	},
}

const (
	traceWeight    = 0.01 // λ, as in Tanno's experiments
	traceWarmUp    = 0.1  // share of the run in which a large trace is a gain
	startConfusion = 3    // logits of the pixels' rates: α starts near 0.95, β near 0.05
)

// confuse gives every rater's mask A_m p, and the traces less 1, (M·K), for the consensus y.
func confuse(n *model.Network, y *tensor.Tensor) (rated, traces *tensor.Tensor) {
	inside, outside := rate(n, "inside", 1, -5), rate(n, "outside", -5, 1)
	traces = less(inside, outside)
	return byRater(n, affine(eachRater(n, y), traces, outside)), traces
}

// rate is a column of all A_m, (M·K): the share of marks among the softplus of two parameters.
func rate(n *model.Network, truth string, marked, unmarked float64) *tensor.Tensor {
	weight := func(name string, start float64) *tensor.Tensor {
		return softplus(n.Parameter("cm.weight."+name+truth, always(start), n.Raters*n.Classes))
	}
	mark, none := weight("marked_", marked), weight("unmarked_", unmarked)
	return pointwise.Multiply(mark, pointwise.Reciprocal(pointwise.Add(mark, none)))
}

// confusePixels is the consensus and confuse, with rates of each pixel; traces are (B, S/2, S/2,
// M·K). The rates are smooth: if each of the four pixels that an Up makes of one had weights of its
// own, the trace would turn A_m and with it the mask around at some of them, in a checkerboard.
func confusePixels(n *model.Network, m model.Maps) (y, rated, traces *tensor.Tensor) {
	y = mask(n, m)
	x, mk := model.Enlarge(last(m)), n.Raters*n.Classes
	for i := range 4 {
		x = block(n, fmt.Sprintf("cm.raters.%d", i+1), x, x.Dim(-1), 1)
	}
	rates := pointwise.Sigmoid(n.Linear("cm.rates", x, 2*mk, true))
	n.Set.Lookup("cm.rates.bias").Initial = func(i int, _ *rand.Rand) float64 {
		if i < mk {
			return startConfusion
		}
		return -startConfusion
	}
	inside, outside := pointwise.Split(rates, mk)
	traces = less(inside, outside)
	return y, byRater(n, pointwise.Add(outside, pointwise.Multiply(traces, eachRater(n, y)))), traces
}

// traceTerm is weight × Σ (traces), with the other sign in the warm-up.
func traceTerm(s *model.Step, traces *tensor.Tensor, weight float64) model.Term {
	sign := s.Feed("sign of the trace", func(b *model.Batch, _ model.Draws) []float32 {
		if b.Progress < traceWarmUp {
			return []float32{-1}
		}
		return []float32{1}
	}, 1)
	return model.Term{Name: "trace", Value: pointwise.Scale(pointwise.Multiply(pointwise.Sum(traces), sign), float32(weight))}
}
