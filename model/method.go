package model

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"mrprism/shaders/conv"
	"mrprism/shaders/loss"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"
)

// Method is a way to learn from several raters that is not Algorithm 1, on the same encoder and
// decoder (ConP at equal confidence). The file of each method names its paper. A method is a value:
// training and inference call it, and know none by name.
type Method struct {
	Name   string // of -method, and at the end of an architecture's name
	Title  string // authors, year and idea, in one line
	Raters bool   // it also predicts every rater's mask
	// Diagnosed: it needs a diagnosis of every image, Batch.Diagnosis.
	Diagnosed bool
	Crowd     bool // it predicts no rater's mask, and yet learns who marked what
	// Trusts: its maps of raters are not their masks. They say how far each is trusted, by the odds:
	// a rater's weight is p / (1 − p).
	Trusts bool

	// Decode appends the decoder: its four stages, from S/32 to S/4, of the image (B, S, S, 3), the
	// encoder's maps and log confidences w; nil: the common one.
	Decode func(n *Network, image *tensor.Tensor, f Features, w *tensor.Tensor) [4]*tensor.Tensor

	// Condition changes the encoder's maps before the decoder reads them. It hands on Maps.Given,
	// which is drawn for a step s and fixed at inference, where s is nil. nil: no change.
	Condition func(n *Network, s *Step, f Features) (changed Features, given *tensor.Tensor)

	// Predict appends what makes masks of the maps: the consensus y (B, S/2, S/2, K) and, of
	// methods with Raters or Trusts, every rater's map (B, h, h, M, K), probabilities.
	Predict func(n *Network, m Maps) (y, rated *tensor.Tensor)

	// Learn appends the losses of a step. It returns them with the consensus y (B, S/2, S/2, K).
	Learn lesson
}

// lesson is Method.Learn.
type lesson func(n *Network, s *Step, m Maps) (y *tensor.Tensor, terms []Term)

// trains is a method's Learn, but nil in the page: its program trains nothing, and is smaller
// without.
func trains(learn lesson) lesson {
	if runtime.GOOS == "js" {
		return nil
	}
	return learn
}

// titled is Method.Title, which the page does not show and does without as well.
func titled(title string) string {
	if runtime.GOOS == "js" {
		return ""
	}
	return title
}

// NeedsRaters says that the method must know who marked what. Agreement levels do not say it.
func (m *Method) NeedsRaters() bool { return m.Raters || m.Crowd }

// Methods lists all, in the order of the paper's tables.
var Methods = []*Method{
	&wdNet, &crowdLayer, &aggNet, &confusion, &pixelConfusion, &maxMIG, &diagnosisFirst, &mrNet, &randomRater, &hypotheses, &pionono, &padl, &tab,
	&agNet, &beal, &pOSAL,
}

// FindMethod is the method of a name. The error names all.
func FindMethod(name string) (*Method, error) {
	var names []string
	for _, m := range Methods {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("no method is named %q: use one of %s, or none for MrPrism", name, strings.Join(names, ", "))
}

// MethodOf is the method at the end of an architecture's name; nil: Algorithm 1.
func MethodOf(architecture string) *Method {
	_, m := cutMethod(architecture)
	return m
}

func cutMethod(architecture string) (rest string, m *Method) {
	for _, m := range Methods {
		if rest, found := strings.CutSuffix(architecture, "-"+m.Name); found {
			return rest, m
		}
	}
	return architecture, nil
}

// Maps is what a method builds on: the image (B, S, S, 3), the encoder's maps, and those of the
// decoder's four stages, from S/32 to S/4.
type Maps struct {
	X *tensor.Tensor
	Features
	Decoder [4]*tensor.Tensor
	Given   *tensor.Tensor // of a method with Condition
}

// maps runs the decoder of a step, or at inference (s is nil), at log confidence w, of which
// methods make no use.
func (n *Network) maps(s *Step, x *tensor.Tensor, f Features, w *tensor.Tensor) Maps {
	m := Maps{X: x, Features: f}
	if n.Method.Condition != nil {
		m.Features, m.Given = n.Method.Condition(n, s, f)
	}
	if decode := n.Method.Decode; decode != nil {
		m.Decoder = decode(n, x, m.Features, w)
	} else {
		m.Decoder = n.decode(m.Features, w).Stages
	}
	return m
}

// mask is the consensus (B, S/2, S/2, K) of the decoder's last map.
func (n *Network) mask(m Maps) *tensor.Tensor { return pointwise.Sigmoid(n.maskHead(m.last())) }

// last is the decoder's last map (B, S/4, S/4, ·).
func (m Maps) last() *tensor.Tensor { return m.Decoder[3] }

// predict is inference by a method.
func (in *Inference) predict(n *Network, f Features, labels *tensor.Graph) {
	half, rated := n.Method.Predict(n, n.maps(nil, in.x, f, logConfidence(in.estimate)))
	in.y, in.rated = enlarge(half).Keep(), in.estimate
	known := in.between
	if rated != nil {
		known = in.set.Variable(tensor.Shared, "shared.raters", rated.Shape()...)
		in.rated = half.Graph().Variable(known)
		pointwise.Assign(in.rated, rated)
	}
	in.full = resizeRaters(labels.Variable(known), in.Side).Keep()
}

// learn appends the losses of the method.
func (s *Step) learn(n *Network, r Recipe) {
	half, terms := n.Method.Learn(n, s, n.maps(s, s.X, s.Features, s.W0))
	s.Recurrence = []Pass{{Half: half, Y: enlarge(half)}}
	s.Terms = []Terms{{Method: terms}}
}

// feed is an input that a method fills for each batch.
type feed struct {
	to   *tensor.Tensor
	fill func(b *Batch, draws draws) []float32
}

// feed makes an input that is filled for each batch.
func (s *Step) feed(name string, fill func(b *Batch, draws draws) []float32, shape ...int) *tensor.Tensor {
	to := s.Graph.Input(name, shape...)
	s.feeds = append(s.feeds, feed{to, fill})
	return to
}

// ---- what several methods use ----

// meanVote is the mean of the raters' labels, (B, S, S, K).
func (s *Step) meanVote() *tensor.Tensor { return raters.Fuse(s.equal(), s.Z, s.Valid) }

// maskTerm is the cross-entropy of the consensus half (B, S/2, S/2, K), enlarged, against a target
// (B, S, S, K).
func (s *Step) maskTerm(n *Network, name string, half, target *tensor.Tensor) Term {
	return Term{name, n.part(func() *tensor.Tensor {
		return s.mean(loss.CrossEntropy(enlarge(half), target.Detach(), lowest), s.Present)
	})}
}

// ratersTerm is the cross-entropy of every rater's mask (B, h, h, M, K), enlarged, against the
// rater's own label. Raters who labelled a structure share its weight.
func (s *Step) ratersTerm(n *Network, name string, rated *tensor.Tensor) Term {
	return Term{name, n.part(func() *tensor.Tensor {
		own := loss.CrossEntropy(resizeRaters(rated, s.Z.Dim(1)), s.Z, lowest)
		return pointwise.Sum(raters.Weigh(own, s.Heads))
	})}
}

// ratersHead gives every rater a mask of his own, (B, S/2, S/2, M, K), from the decoder's last map
// x.
func (n *Network) ratersHead(name string, x *tensor.Tensor) *tensor.Tensor {
	logits := n.Up(name, x, n.Raters*n.Classes, func(i int) float64 { return n.areaLogit(i % n.Classes) })
	return pointwise.Sigmoid(logits).Reshape(x.Dim(0), 2*x.Dim(1), 2*x.Dim(2), n.Raters, n.Classes)
}

// eachRater repeats maps (B, h, w, C) for every rater: (B, h, w, M·C).
func (n *Network) eachRater(x *tensor.Tensor) *tensor.Tensor { return repeated(x, n.Raters) }

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
func (n *Network) allRaters(x *tensor.Tensor) *tensor.Tensor { return folded(x, n.Classes) }

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

// normal is an input of this shape that is drawn from N(0, 1) for each batch.
func (s *Step) normal(name string, shape ...int) *tensor.Tensor {
	elements := 1
	for _, extent := range shape {
		elements *= extent
	}
	return s.feed(name, func(_ *Batch, draws draws) []float32 {
		drawn := make([]float32, elements)
		for i := range drawn {
			drawn[i] = float32(draws.of(i, elements).NormFloat64())
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
func (n *Network) allKnown(batch int) *tensor.Tensor {
	ones := slices.Repeat([]float32{1}, batch*n.Raters*n.Classes)
	return n.Graph.Constant("all raters count", ones, batch, n.Raters, n.Classes)
}

// running is a variable (C) that a method updates in each step, and that starts at one value.
func (n *Network) running(name string, start float64, channels int) *tensor.Tensor {
	v := n.Set.Variable(tensor.Statistic, name, channels)
	v.Initial = func(int, *rand.Rand) float64 { return start }
	return n.Graph.Variable(v)
}

// weight is a parameter that starts as draws of N(0, deviation²).
func (n *Network) weight(name string, deviation float64, shape ...int) *tensor.Tensor {
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

// inverse is 1/(x + c) of x from 0 on, as σ(−log(x/c)) / c. Below 1e-6·c x counts as that.
func inverse(x *tensor.Tensor, c float32) *tensor.Tensor {
	log := pointwise.ClampLog(pointwise.Scale(x, 1/c), 1e-6, 1e30)
	return pointwise.Scale(pointwise.Sigmoid(pointwise.Scale(log, -1)), 1/c)
}

// root is √x of x from 0 to 1, as p/(1 − p) with p = σ(½ log x). Below 1e-6 x counts as that.
func root(x *tensor.Tensor) *tensor.Tensor {
	p := pointwise.Sigmoid(pointwise.Scale(pointwise.ClampLog(x, 1e-6, 1), 0.5))
	return pointwise.Multiply(p, inverse(less(half(x), p), 0.5))
}

// block is a 3×3 convolution with batch norm and ReLU.
func (n *Network) block(name string, x *tensor.Tensor, width, stride int) *tensor.Tensor {
	return pointwise.ReLU(n.BatchNorm(name+".bn", n.Conv(name+".conv", x, 3, width, stride, 1, false, false)))
}

// complement is 1 − p of maps p (B, h, w, C).
func complement(p *tensor.Tensor) *tensor.Tensor {
	c := p.Dim(-1)
	constant := func(v float32) *tensor.Tensor {
		return p.Graph().Constant("complement", slices.Repeat([]float32{v}, c), c)
	}
	return affine(p, constant(-1), constant(1))
}

// byRater sees maps (B, h, w, M·K) as (B, h, w, M, K).
func (n *Network) byRater(x *tensor.Tensor) *tensor.Tensor {
	return x.Reshape(x.Dim(0), x.Dim(1), x.Dim(2), n.Raters, n.Classes)
}
