package model

import (
	"fmt"
	"math"

	"mrprism/model/nn"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// Unrolled is the network on one image as one graph, for programs that write the network in another
// language.
type Unrolled struct {
	Graph   *tensor.Graph
	X       *tensor.Tensor // the image (1, S, S, 3), normalised
	Start   *tensor.Tensor // w₀ (1, S/8, S/8, M, K); each element is StartConfidence
	Outputs []Output
}

// Output is a result of an unrolled graph.
type Output struct {
	Name   string
	Tensor *tensor.Tensor
}

// StartConfidence is the logarithm of every rater's likely label before the first recurrence, ½
// (startEstimate).
const StartConfidence = -math.Ln2

func newUnrolled(c Config, set *tensor.Set, side int) (Network, *Unrolled) {
	g := tensor.NewGraphOf(set.Floats())
	n := Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set}}
	return n, &Unrolled{Graph: g, X: g.Input("x", 1, side, side, 3)}
}

func (u *Unrolled) output(name string, t *tensor.Tensor) {
	u.Outputs = append(u.Outputs, Output{name, t})
}

// Unroll is inference in a number of passes with equal trust in all raters. The outputs are the
// masks rec0, rec1 … (1, S, S, K), one for each pass, and the raters' likely labels after the last
// pass, raters (1, S, S, M, K). The caller applies Config.Nest to all of them. Without heads there
// are no raters' labels. A network with Evidence also makes one
// pass; nothing is given, and the raters' labels are settled. A network of another method makes one
// pass too, and raters' labels if the method has them.
func Unroll(c Config, set *tensor.Set, side, passes int, heads bool) *Unrolled {
	n, u := newUnrolled(c, set, side)
	u.Start = u.Graph.Input("start confidence", 1, side/8, side/8, c.Raters, c.Classes)
	f, w := n.Encoder(u.X), u.Start
	if c.Method != nil {
		y, rated := c.Method.Predict(&n, n.maps(nil, u.X, f, w))
		u.output("rec0", Enlarge(y))
		if rated != nil {
			u.output("raters", ResizeRaters(rated, side))
		}
		return u
	}
	for pass := 0; pass < passes; pass++ {
		half, y, inner := n.Converge(f, w)
		u.output(fmt.Sprintf("rec%d", pass), y)
		if !heads && pass == passes-1 {
			return u
		}
		zHat, likely := n.Diverge(half)
		if c.Evidence {
			settled := n.Settle(n.begun(inner.Logits, likely), n.edges(f), nothingGiven(u.Graph, c, side)).Raters
			zHat, pass = pointwise.Sigmoid(settled).Reshape(1, side/2, side/2, c.Raters, c.Classes), passes-1
		}
		if pass == passes-1 {
			u.output("raters", ResizeRaters(zHat, side))
		} else {
			w = logConfidence(zHat)
		}
	}
	return u
}

// UnrollEncoder is the encoder alone. The outputs are those of Encoded. The set holds the network's
// variables.
func UnrollEncoder(c Config, set *tensor.Set, side int) *Unrolled {
	n, u := newUnrolled(c, set, side)
	encoded := n.encoded(n.Encoder(u.X))
	for i := range n.ConP {
		for _, name := range []string{fmt.Sprintf("merge%d", i+1), fmt.Sprintf("shortcut%d", i+1)} {
			u.output(name, encoded[name])
		}
	}
	u.output("f0", encoded["f0"])
	return u
}
