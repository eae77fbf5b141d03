package rivals

import (
	"math/rand/v2"
	"slices"

	"mrprism/model"
	"mrprism/shaders/conv"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// mask is the consensus (B, S/2, S/2, K) of the decoder's last map.
func mask(n *model.Network, m model.Maps) *tensor.Tensor {
	return pointwise.Sigmoid(n.MaskHead(last(m)))
}

// last is the decoder's last map (B, S/4, S/4, ·).
func last(m model.Maps) *tensor.Tensor { return m.Decoder[3] }

// meanVote is the mean of the raters' labels, (B, S, S, K).
func meanVote(s *model.Step) *tensor.Tensor { return raters.Fuse(s.Equal(), s.Z, s.Valid) }

// maskTerm is the cross-entropy of the consensus half (B, S/2, S/2, K), enlarged, against a target
// (B, S, S, K).
func maskTerm(s *model.Step, n *model.Network, name string, half, target *tensor.Tensor) model.Term {
	return model.Term{Name: name, Value: n.Part(func() *tensor.Tensor {
		return s.Mean(loss.CrossEntropy(model.Enlarge(half), target.Detach(), model.Lowest), s.Present)
	})}
}

// ratersTerm is the cross-entropy of every rater's mask (B, h, h, M, K), enlarged, against the
// rater's own label. Raters who labelled a structure share its weight.
func ratersTerm(s *model.Step, n *model.Network, name string, rated *tensor.Tensor) model.Term {
	return model.Term{Name: name, Value: n.Part(func() *tensor.Tensor {
		own := loss.CrossEntropy(model.ResizeRaters(rated, s.Z.Dim(1)), s.Z, model.Lowest)
		return pointwise.Sum(raters.Weigh(own, s.Heads))
	})}
}

// ratersHead gives every rater a mask of his own, (B, S/2, S/2, M, K), from the decoder's last map
// x.
func ratersHead(n *model.Network, name string, x *tensor.Tensor) *tensor.Tensor {
	logits := n.Up(name, x, n.Raters*n.Classes, func(i int) float64 { return n.AreaLogit(i % n.Classes) })
	return pointwise.Sigmoid(logits).Reshape(x.Dim(0), 2*x.Dim(1), 2*x.Dim(2), n.Raters, n.Classes)
}

// eachRater repeats maps (B, h, w, C) for every rater: (B, h, w, M·C).
func eachRater(n *model.Network, x *tensor.Tensor) *tensor.Tensor { return repeated(x, n.Raters) }

// repeated is maps (B, h, w, C) a number of times side by side: (B, h, w, times·C).
func repeated(x *tensor.Tensor, times int) *tensor.Tensor {
	c, all := x.Dim(-1), times*x.Dim(-1)
	repeat := make([]float32, c*all)
	for i := range all {
		repeat[i%c*all+i] = 1
	}
	return conv.Linear(x, x.Graph().Constant("repeat", repeat, c, all), nil)
}

// allRaters sums maps (B, h, w, M·K) over the raters: (B, h, w, K).
func allRaters(n *model.Network, x *tensor.Tensor) *tensor.Tensor { return folded(x, n.Classes) }

// folded sums maps (B, h, w, times·C) over the times: (B, h, w, C).
func folded(x *tensor.Tensor, c int) *tensor.Tensor {
	all := x.Dim(-1)
	sum := make([]float32, c*all)
	for i := range all {
		sum[i*c+i%c] = 1
	}
	return conv.Linear(x, x.Graph().Constant("folded", sum, all, c), nil)
}

// affine multiplies each channel of x (B, h, w, C) by its own factor (C), and adds its own shift
// (C).
func affine(x, factor, shift *tensor.Tensor) *tensor.Tensor {
	c := x.Dim(-1)
	return conv.DepthwiseConv2D(x, factor.Reshape(1, 1, c), shift, conv.Square(1, 0))
}

// everywhere gives every pixel of maps of the shape of x (B, h, w, M, K) the values of table (M,
// K).
func everywhere(x, table *tensor.Tensor) *tensor.Tensor {
	none := pointwise.Scale(x.Detach(), 0)
	pixels := x.Elements() / table.Elements()
	return pointwise.AddBroadcast(none.Reshape(pixels, table.Elements()), table).Reshape(x.Shape()...)
}

// spread gives every pixel of maps (B, h, w, C) the values of its image in x, which has B·C
// elements.
func spread(x *tensor.Tensor, b, h, w int) *tensor.Tensor {
	return pool.Resize(x.Reshape(b, 1, 1, x.Elements()/b), h, w)
}

// normal is an input of this shape that is drawn from N(0, 1) for each batch. At inference, where s
// is nil, all images have the same draws.
func normal(n *model.Network, s *model.Step, name string, shape ...int) *tensor.Tensor {
	elements := 1
	for _, extent := range shape {
		elements *= extent
	}
	if s == nil {
		random, drawn := rand.New(rand.NewPCG(uint64(elements), 0)), make([]float32, elements)
		for i := range drawn {
			drawn[i] = float32(random.NormFloat64())
		}
		return n.Graph.Constant(name, drawn, shape...)
	}
	return s.Feed(name, func(_ *model.Batch, draws model.Draws) []float32 {
		drawn := make([]float32, elements)
		for i := range drawn {
			drawn[i] = float32(draws.Of(i, elements).NormFloat64())
		}
		return drawn
	}, shape...)
}

// pixelMean is the mean of each channel of x (B, S, S, C) over pixels and images: (1, 1, 1, C).
// S is a multiple of 16.
func pixelMean(x *tensor.Tensor) *tensor.Tensor {
	x = pool.Average(x, 16, 16, conv.Square(16, 0))
	rows, columns := x.Dim(0)*x.Dim(1), x.Dim(2)
	return pool.Average(x.Reshape(1, rows, columns, x.Dim(-1)), rows, columns, conv.Square(1, 0))
}

// imageMean is the mean of each channel of x (B, S, S, C) over the pixels of an image: (B, 1, 1,
// C). S is a multiple of 16.
func imageMean(x *tensor.Tensor) *tensor.Tensor {
	x = pool.Average(x, 16, 16, conv.Square(16, 0))
	return pool.Average(x, x.Dim(1), x.Dim(2), conv.Square(1, 0))
}

// allKnown says of every rater that his labels count: (B, M, K) of ones.
func allKnown(n *model.Network, batch int) *tensor.Tensor {
	ones := slices.Repeat([]float32{1}, batch*n.Raters*n.Classes)
	return n.Graph.Constant("all raters count", ones, batch, n.Raters, n.Classes)
}

// running is a variable (C) that a method updates in each step, and that starts at one value.
func running(n *model.Network, name string, start float64, channels int) *tensor.Tensor {
	v := n.Set.Variable(tensor.Statistic, name, channels)
	v.Initial = func(int, *rand.Rand) float64 { return start }
	return n.Graph.Variable(v)
}

// weight is a parameter that starts as draws of N(0, deviation²).
func weight(n *model.Network, name string, deviation float64, shape ...int) *tensor.Tensor {
	v := n.Set.Variable(tensor.Parameter, name+".weight", shape...)
	v.Initial = func(_ int, random *rand.Rand) float64 { return deviation * random.NormFloat64() }
	if w := n.Graph.Variable(v); !n.Detached {
		return w
	}
	return n.Graph.Variable(v).Detach()
}

func zero(int) float64 { return 0 }

func always(v float64) func(int) float64 { return func(int) float64 { return v } }

// less is a − b.
func less(a, b *tensor.Tensor) *tensor.Tensor { return pointwise.Add(a, pointwise.Scale(b, -1)) }

// inverse is 1/(x + c).
func inverse(x *tensor.Tensor, c float32) *tensor.Tensor {
	return pointwise.Reciprocal(pointwise.Affine(x, 1, c))
}

// root is √x of x from 0 to 1. Below 1e-6 x counts as that.
func root(x *tensor.Tensor) *tensor.Tensor {
	return pointwise.Exp(pointwise.Scale(pointwise.ClampLog(x, 1e-6, 1), 0.5))
}

// softplus is log(1 + e^x), x < 88.
func softplus(x *tensor.Tensor) *tensor.Tensor {
	return pointwise.Log(pointwise.Affine(pointwise.Exp(x), 1, 1))
}

// block is a 3×3 convolution with batch norm and ReLU.
func block(n *model.Network, name string, x *tensor.Tensor, width, stride int) *tensor.Tensor {
	return pointwise.ReLU(n.BatchNorm(name+".bn", n.Conv(name+".conv", x, 3, width, stride, 1, false, false)))
}

// complement is 1 − p.
func complement(p *tensor.Tensor) *tensor.Tensor { return pointwise.Affine(p, -1, 1) }

// inTurn repeats maps (B, h, w, M·C) of the raters in turn, until there are n.Draws: (B, h, w,
// Draws, C).
func inTurn(n *model.Network, x *tensor.Tensor) *tensor.Tensor {
	times := (n.Draws + n.Raters - 1) / n.Raters
	all := repeated(x, times).Reshape(x.Dim(0), x.Dim(1), x.Dim(2), times*n.Raters, x.Dim(3)/n.Raters)
	return pointwise.Slice(all, 0, n.Draws)
}

// beside joins maps of people (B, h, w, M, K) and drawn masks (B, h, w, Draws, K).
func beside(people, drawn *tensor.Tensor) *tensor.Tensor {
	b, h, w, k := people.Dim(0), people.Dim(1), people.Dim(2), people.Dim(4)
	flat := func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(b, h, w, x.Dim(3)*k) }
	return pointwise.Concat(flat(people), flat(drawn)).Reshape(b, h, w, people.Dim(3)+drawn.Dim(3), k)
}

// byRater sees maps (B, h, w, M·K) as (B, h, w, M, K).
func byRater(n *model.Network, x *tensor.Tensor) *tensor.Tensor {
	return x.Reshape(x.Dim(0), x.Dim(1), x.Dim(2), n.Raters, n.Classes)
}
