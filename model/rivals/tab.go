package rivals

import (
	"math"
	"math/rand/v2"
	"slices"

	"mrprism/model"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// tab is Liao, Hu, Xie & Xia (2023), "Transformer-based annotation bias-aware medical image
// segmentation". M + 1 learned queries, of the meta mask and of each rater, attend to the image's
// tokens (a transformer of one encoder and one decoder layer). What comes out are preference
// features h_q. Each head of a last attention gives a map of each query, A_q = σ(h_q · token / √d),
// and a mask head sees A_q beside the features x. Its results are the mean, the deviation and the
// low-rank factors of a Gaussian of logits:
//
//	logits_q = μ_q + s_q ε + F_q ε′,  ε ~ N(0, 1) a pixel, ε′ ~ N(0, I₈) a mask
//	L = mean_m CE(σ(logits_0), z^m) + 1.25 mean_m CE(σ(logits_m), z^m)
//
// Consensus and raters' masks are σ(μ_q). Four things differ. The authors run the whole decoder for
// every query. Here it runs once, and A_q, enlarged, joins its result. Their maps are a softmax
// over pixels, whose values shrink as images grow; σ does not. In a single decoder layer the
// queries' attention to each other only adds a constant, and is left out. A query is added to what
// it attends to: without it, queries of an image of few tokens stay alike.
var tab = model.Method{
	Name: "tab", Title: "TAB (Liao 2023): a transformer's query for each rater, and a Gaussian of the logits", Raters: true, Draws: true,
	Predict: func(n *model.Network, m model.Maps) (y, rated *tensor.Tensor) {
		p := tabHeads(n, tabFeatures(n, m), preferenceMaps(n, m.E[4]))
		b, h, w, people := p.Dim(0), p.Dim(1), p.Dim(2), n.Raters+1
		mean, _, _ := gaussian(n, p.Reshape(b, h, w*people, p.Dim(4)))
		meta, own := pointwise.Split(mean.Reshape(b, h, w, people*n.Classes), n.Classes)
		own = byRater(n, pointwise.Sigmoid(own))
		if n.Draws > 0 {
			raters := pointwise.Slice(p, 1, people).Reshape(b, h, w, n.Raters*p.Dim(4))
			own = beside(own, drawnMasks(nil, n, inTurn(n, raters)))
		}
		return pointwise.Sigmoid(meta), own
	},
	Learn: func(n *model.Network, s *model.Step, m model.Maps) (*tensor.Tensor, []model.Term) {
		p := tabHeads(n, tabFeatures(n, m), preferenceMaps(n, m.E[4]))
		meta := pointwise.Slice(p, 0, 1).Reshape(p.Dim(0), p.Dim(1), p.Dim(2), p.Dim(4))
		each := eachRater(n, meta).Reshape(p.Dim(0), p.Dim(1), p.Dim(2), n.Raters, p.Dim(4))
		own := ratersTerm(s, n, "raters", drawnMasks(s, n, pointwise.Slice(p, 1, n.Raters+1)))
		own.Value = pointwise.Scale(own.Value, tabRaters)
		y, _ := pointwise.Split(meta, n.Classes)
		return pointwise.Sigmoid(y), []model.Term{ratersTerm(s, n, "meta", drawnMasks(s, n, each)), own}
	},
}

const (
	tabWidth  = 32   // of the mask head
	tabRank   = 8    // columns of F
	tabRaters = 1.25 // weight of the raters' loss
)

// tabFeatures is x (B, S/2, S/2, 32).
func tabFeatures(n *model.Network, m model.Maps) *tensor.Tensor {
	return pointwise.ReLU(n.BatchNorm("tab.features.bn", n.Up("tab.features.up", last(m), tabWidth, nil)))
}

// preferenceMaps is every A_q (B, h, w, (M + 1)·heads) from the encoder's last map (B, h, w, ·).
func preferenceMaps(n *model.Network, e *tensor.Tensor) *tensor.Tensor {
	width, people, heads := n.ConP[0], n.Raters+1, n.DivPHeads
	b, h, w := e.Dim(0), e.Dim(1), e.Dim(2)
	memory := n.AttentionBlock("tab.encoder", n.Conv("tab.project", e, 1, width, 1, 0, true, false), width)

	v := n.Set.Variable(tensor.Parameter, "tab.queries", people, width)
	v.Initial = func(_ int, r *rand.Rand) float64 { return r.NormFloat64() }
	none := n.Graph.Constant("no image", make([]float32, b*people*width), b, people, width)
	query := pointwise.AddBroadcast(none, n.Graph.Variable(v))
	key, value := n.Linear("tab.decoder.key", n.Placed(memory), width, false), n.Linear("tab.decoder.value", memory, width, true)
	context := pointwise.Concat(key, value).Reshape(b, h*w, 2*width)
	attended := attention.Attention(n.Linear("tab.decoder.query", query, width, true), context, heads)
	x := n.LayerNorm("tab.decoder.norm1", pointwise.Add(query, n.Linear("tab.decoder.output", attended, width, true)))
	x = n.LayerNorm("tab.decoder.norm2", pointwise.Add(x, n.MLP("tab.decoder.mlp", x)))

	tokens := repeated(n.Linear("tab.maps.key", memory, width, true), people)
	both := pointwise.Multiply(tokens, spread(n.Linear("tab.maps.query", x, width, true), b, h, w))
	d := width / heads
	sum := n.Graph.Constant("sum", slices.Repeat([]float32{1}, people*width), people*heads, d, 1)
	return pointwise.Sigmoid(pointwise.Scale(conv.GroupedLinear(both, sum, nil), float32(1/math.Sqrt(float64(d)))))
}

// tabHeads is the mask head: (B, H, W, M + 1, K (2 + 8)) from features x (B, H, W, 32) and maps
// A_q. The first convolution of [x ‖ A_q] is a sum of two, so that x's share is computed once.
func tabHeads(n *model.Network, x, maps *tensor.Tensor) *tensor.Tensor {
	b, h, w, people, width := x.Dim(0), x.Dim(1), x.Dim(2), n.Raters+1, x.Dim(3)
	each := n.Linear("tab.head.0.maps", maps.Reshape(b, maps.Dim(1), maps.Dim(2)*people, maps.Dim(3)/people), width, false)
	each = pool.Resize(each.Reshape(b, maps.Dim(1), maps.Dim(2), people*width), h, w)
	both := pointwise.Add(repeated(n.Linear("tab.head.0.features", x, width, true), people), each)
	both = pointwise.ReLU(both).Reshape(b, h, w*people, width)
	out := n.Classes * (2 + tabRank)
	return n.Linear("tab.head.1", both, out, true).Reshape(b, h, w, people, out)
}

// gaussian is μ and s (…, K) and F (…, K·8) of p (…, K (2 + 8)).
func gaussian(n *model.Network, p *tensor.Tensor) (mean, deviation, factors *tensor.Tensor) {
	mean, rest := pointwise.Split(p, n.Classes)
	deviation, factors = pointwise.Split(rest, n.Classes)
	return mean, pointwise.Abs(deviation), factors
}

// drawnMasks draws masks (B, h, w, P, K) from the Gaussians of p (B, h, w, P, ·).
func drawnMasks(s *model.Step, n *model.Network, p *tensor.Tensor) *tensor.Tensor {
	mean, deviation, factors := gaussian(n, p)
	k, columns := n.Classes, n.Classes*tabRank
	// The structures of a mask share its draws.
	draws := repeated(normal(n, s, "draws of masks", p.Dim(0), 1, p.Dim(3), tabRank), k).Reshape(p.Dim(0), p.Dim(3), columns)
	sum := make([]float32, columns*k)
	for i := range columns {
		sum[i*k+i/tabRank] = 1
	}
	together := conv.Linear(raters.Weigh(factors, draws), n.Graph.Constant("sum of ranks", sum, columns, k), nil)
	alone := pointwise.Multiply(deviation, normal(n, s, "draws of pixels", mean.Shape()...))
	return pointwise.Sigmoid(pointwise.Add(mean, pointwise.Add(together, alone)))
}
