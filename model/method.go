package model

import (
	"fmt"
	"strings"

	"mrprism/internal/choice"
	"mrprism/shaders/pointwise"
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
	Draws     bool // it also draws possible masks, Config.Draws of them
	// Trusts: its maps of raters are not their masks. They say how far each is trusted, by the odds:
	// a rater's weight is p / (1 − p).
	Trusts bool

	// Decode appends the decoder: its four stages, from S/32 to S/4, of the image (B, S, S, 3), the
	// encoder's maps and log confidences w; nil: the common one.
	Decode func(n *Network, image *tensor.Tensor, f Features, w *tensor.Tensor) [4]*tensor.Tensor

	// Condition changes the encoder's maps before the decoder reads them. In training (s != nil) it
	// also draws a random input, which it returns as given (Maps.Given); at inference the input is
	// fixed. A nil Condition changes nothing.
	Condition func(n *Network, s *Step, f Features) (changed Features, given *tensor.Tensor)

	// Predict appends what makes masks of the maps: the consensus y (B, S/2, S/2, K) and, of
	// methods with Raters or Trusts, every rater's map (B, h, h, M + Draws, K), probabilities.
	Predict func(n *Network, m Maps) (y, rated *tensor.Tensor)

	// Learn appends the losses of a step. It returns them with the consensus y (B, S/2, S/2, K).
	Learn func(n *Network, s *Step, m Maps) (y *tensor.Tensor, terms []Term)
}

// Methods are those that the program knows, in the order of the paper's tables. Package rivals
// fills them in. The page's programs do not import it, and know Algorithm 1 alone.
var Methods []*Method

// FindMethod is the method of a name. The error names all.
func FindMethod(name string) (*Method, error) {
	if len(Methods) == 0 {
		return nil, fmt.Errorf("method %s is not in the page: use the native programs segment and train", name)
	}
	return choice.Find("method", name, Methods, func(m *Method) string { return m.Name })
}

// MethodOf is the method at the end of an architecture's name, as in "compact-wdnet"; nil:
// Algorithm 1.
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

// NeedsRaters says that the method must know who marked what. Agreement levels do not say it.
func (m *Method) NeedsRaters() bool { return m.Raters || m.Crowd }

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

// predict is inference by a method.
func (in *Inference) predict(n *Network, f Features, labels *tensor.Graph) {
	half, rated := n.Method.Predict(n, n.maps(nil, in.x, f, logConfidence(in.estimate)))
	in.y, in.rated = Enlarge(half).Keep(), in.estimate
	known := in.between
	if rated != nil {
		known = in.set.Variable(tensor.Shared, "shared.raters", rated.Shape()...)
		in.rated = half.Graph().Variable(known)
		pointwise.Assign(in.rated, rated)
	}
	in.full = ResizeRaters(labels.Variable(known), in.Side).Keep()
}

// learn appends the losses of the method, and a Dice loss of its consensus if the recipe has one.
func (s *Step) learn(n *Network, r Recipe) {
	half, terms := n.Method.Learn(n, s, n.maps(s, s.X, s.Features, s.W0))
	y := Enlarge(half)
	s.Recurrence = []Pass{{Half: half, Y: y}}
	s.Terms = []Terms{{Method: terms, Dice: s.diceLoss(n, r, y, s.firstFusion(r.Rule, s.W0).Detach())}}
}

// feed is an input that a method fills for each batch.
type feed struct {
	to   *tensor.Tensor
	fill func(b *Batch, draws Draws) []float32
}

// Feed makes an input that is filled for each batch.
func (s *Step) Feed(name string, fill func(b *Batch, draws Draws) []float32, shape ...int) *tensor.Tensor {
	to := s.Graph.Input(name, shape...)
	s.feeds = append(s.feeds, feed{to, fill})
	return to
}
