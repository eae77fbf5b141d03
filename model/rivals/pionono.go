package rivals

import (
	"math"
	"math/rand/v2"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// pionono is Schmidt, Morales-Álvarez & Molina (2023), "Probabilistic modeling of inter- and
// intra-observer variability in medical image segmentation". Rater m has a latent of d = 8 numbers,
// q(z|m) = N(μ_m, L_m L_mᵀ). A head of three 1×1 convolutions sees it beside the decoder's features
// f at every pixel:
//
//	p_m = σ(mean_j head([f ‖ z_j])),  z_j = μ_m + L_m ε_j
//	L = mean_m CE(p_m, z^m) + κ mean_m KL(q(z|m) ‖ N(0, σ² I))
//
// The constants are the authors': σ = 2, κ = 5e-4, five draws j. μ_m starts at N(0, 8²) and L_m
// at σ I. Both learn at the rate 0.02: at the network's they would stay about where they start.
// A rater's mask is that of the mean latent, and the consensus is the mean of these masks. The
// authors draw for one rater an image; here every rater has draws of his own. Their penalty of 1e-5
// on the head's weights is left out.
var pionono = model.Method{
	Name: "pionono", Title: "Pionono (Schmidt 2023): a Gaussian latent for each rater beside the decoder's features", Raters: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		f, mean := latentFeatures(n, m), latentMean(n)
		none := n.Graph.Constant("no draw", make([]float32, f.Dim(0)*mean.Elements()), f.Dim(0), mean.Elements())
		rated = pointwise.Sigmoid(latentHead(n, f, pointwise.AddBroadcast(none, mean.Reshape(mean.Elements()))))
		return meanHead(n, rated), rated
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		mean, lower := latentMean(n), latentLower(n)
		z := conv.GroupedLinear(normal(n, s, "latent draws", s.X.Dim(0), piononoDraws, mean.Elements()), lower, mean)
		rated := pointwise.Sigmoid(meanDraw(n, latentHead(n, latentFeatures(n, m), z)))
		return meanHead(n, rated), []model.Term{ratersTerm(s, n, "raters", rated), {Name: "kl", Value: latentKL(n, mean, lower)}}
	},
}

const (
	piononoWidth  = 16  // of f, as the last map of the authors' U-Net
	piononoLatent = 8   // d
	piononoPrior  = 2.0 // σ
	piononoStart  = 8   // deviation of the first μ
	piononoKL     = 5e-4
	piononoDraws  = 5
	piononoRate   = 10 // of the latents' learning rate to the peak of recipes, 2e-3
)

// latentFeatures is f (B, S/2, S/2, 16).
func latentFeatures(n *model.Network, m model.Maps) *tensor.Tensor {
	return pointwise.ReLU(n.BatchNorm("pionono.features.bn", n.Up("pionono.features", last(m), piononoWidth, nil)))
}

// latentMean is μ (M, d).
func latentMean(n *model.Network) *tensor.Tensor {
	v := n.Set.Variable(tensor.Parameter, "pionono.mean", n.Raters, piononoLatent)
	v.Initial, v.Rate = func(_ int, r *rand.Rand) float64 { return piononoStart * r.NormFloat64() }, piononoRate
	return n.Graph.Variable(v)
}

// latentLower is every L_mᵀ, (M, d, d): ε L_mᵀ, with ε as a row, is a deviation from the mean.
func latentLower(n *model.Network) *tensor.Tensor {
	const d = piononoLatent
	start, triangle := make([]float64, n.Raters*d*d), make([]float32, n.Raters*d*d)
	for i := range start {
		row, column := i/d%d, i%d
		if row == column {
			start[i] = piononoPrior
		}
		if row <= column {
			triangle[i] = 1
		}
	}
	v := n.Set.Variable(tensor.Parameter, "pionono.deviation", n.Raters, d, d)
	v.Initial, v.Rate = func(i int, _ *rand.Rand) float64 { return start[i] }, piononoRate
	return pointwise.Multiply(n.Graph.Variable(v), n.Graph.Constant("triangle", triangle, n.Raters, d, d))
}

// latentHead is the logits (B, h, w, P, K) of P people from f (B, h, w, C) and latents z, which has
// B·P·d elements. The first convolution of [f ‖ z] is a sum of two, so that f's share is computed
// once for all. It starts as one convolution would.
func latentHead(n *model.Network, f, z *tensor.Tensor) *tensor.Tensor {
	b, h, w, c := f.Dim(0), f.Dim(1), f.Dim(2), f.Dim(3)
	people := z.Elements() / (b * piononoLatent)
	latent := n.Linear("pionono.head.0.latent", z.Reshape(b, people, piononoLatent), c, false)
	x := repeated(n.Linear("pionono.head.0.features", f, c, true), people)
	for _, part := range []string{"latent", "features"} {
		n.Set.Lookup("pionono.head.0." + part + ".weight").Initial = nn.Xavier(c+piononoLatent, c)
	}
	x = pointwise.ReLU(pointwise.Add(x, spread(latent, b, h, w))).Reshape(b, h, w*people, c)
	x = pointwise.ReLU(n.Linear("pionono.head.1", x, c, true))
	return n.Linear("pionono.head.2", x, n.Classes, true).Reshape(b, h, w, people, n.Classes)
}

// meanDraw is the mean (B, h, w, M, K) of the draws' logits (B, h, w, 5·M, K).
func meanDraw(n *model.Network, logits *tensor.Tensor) *tensor.Tensor {
	b, h, w, all := logits.Dim(0), logits.Dim(1), logits.Dim(2), logits.Dim(3)*n.Classes
	sum := folded(logits.Reshape(b, h, w, all), all/piononoDraws)
	return byRater(n, pointwise.Scale(sum, 1./piononoDraws))
}

// latentKL is κ mean_m of
//
//	KL = (‖L_m‖² + ‖μ_m‖²)/2σ² − d/2 + d log σ − Σ_i log L_m,ii
func latentKL(n *model.Network, mean, lower *tensor.Tensor) *tensor.Tensor {
	const d = piononoLatent
	diagonal, others := make([]float32, lower.Elements()), make([]float32, lower.Elements())
	for i := range diagonal {
		others[i] = 1
		if i/d%d == i%d {
			diagonal[i], others[i] = 1, 0
		}
	}
	fixed := func(values []float32) *tensor.Tensor { return n.Graph.Constant("diagonal", values, lower.Shape()...) }
	logs := pointwise.ClampLog(pointwise.Add(pointwise.Multiply(lower, fixed(diagonal)), fixed(others)), model.Lowest, 1/model.Lowest)
	squares := pointwise.Add(pointwise.Sum(pointwise.Multiply(mean, mean)), pointwise.Sum(pointwise.Multiply(lower, lower)))
	divergence := less(pointwise.Scale(squares, 1/(2*piononoPrior*piononoPrior)), pointwise.Sum(logs))
	offset := float64(n.Raters) * d * (math.Log(piononoPrior) - 0.5)
	return pointwise.Scale(pointwise.Affine(divergence, 1, float32(offset)), piononoKL/float32(n.Raters))
}
