package model

import (
	"fmt"
	"strings"

	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// Integration is the way in which a stage of ConP takes the confidences in. Table 4 of the paper
// compares the three.
type Integration string

// The integrations.
const (
	Attention Integration = ""         // the maps are keys and values, the embedded confidences queries
	Concat    Integration = "concat"   // a 1×1 convolution of both
	ConvLSTM  Integration = "convlstm" // a step of a ConvLSTM whose state is the embedded confidences
)

// ParseIntegration is the integration of a name: attention, concat or convlstm.
func ParseIntegration(name string) (Integration, error) {
	switch i := Integration(name); i {
	case "attention":
		return Attention, nil
	case Concat, ConvLSTM:
		return i, nil
	}
	return "", fmt.Errorf("no integration is named %q: use attention, concat or convlstm", name)
}

func cutIntegration(architecture string) (rest string, i Integration) {
	for _, i := range []Integration{Concat, ConvLSTM} {
		if rest, found := strings.CutSuffix(architecture, "-"+string(i)); found {
			return rest, i
		}
	}
	return architecture, Attention
}

// integrate lets the embedded confidences act on the maps u, both (B, h, w, C).
func (n *Network) integrate(name string, u, embedded *tensor.Tensor) *tensor.Tensor {
	width := u.Dim(-1)
	switch n.Integration {
	case Concat:
		return pointwise.ReLU(n.Conv(name+".concat", pointwise.Concat(u, embedded), 1, width, 1, 0, true, false))
	case ConvLSTM:
		return n.LSTMStep(name+".lstm", u, embedded, embedded)
	}
	attended := n.attention(name+".attention", embedded, u, width, max(1, width/64))
	a := n.LayerNorm(name+".norm1", pointwise.Add(u, n.Linear(name+".attention.output", attended, width, true)))
	return n.LayerNorm(name+".norm2", pointwise.Add(a, n.MLP(name+".mlp", a)))
}

// LSTMStep is one step of a ConvLSTM (Shi et al. 2015, equation 3, without peepholes) on the input
// x, from a hidden and a cell state, all (B, h, w, C): the new hidden state.
//
//	i, f, o, g = 3×3 convolutions of x and the hidden state
//	cell′ = σ(f) cell + σ(i) tanh g, hidden′ = σ(o) tanh cell′
func (n *Network) LSTMStep(name string, x, hidden, cell *tensor.Tensor) *tensor.Tensor {
	both, width := pointwise.Concat(x, hidden), cell.Dim(-1)
	gate := func(gate string) *tensor.Tensor { return n.Conv(name+"."+gate, both, 3, width, 1, 1, true, false) }
	kept := pointwise.Multiply(pointwise.Sigmoid(gate("forget")), cell)
	cell = pointwise.Add(kept, pointwise.Multiply(pointwise.Sigmoid(gate("input")), tanh(gate("candidate"))))
	return pointwise.Multiply(pointwise.Sigmoid(gate("output")), tanh(cell))
}

// tanh is 2 σ(2x) − 1.
func tanh(x *tensor.Tensor) *tensor.Tensor {
	return pointwise.Affine(pointwise.Sigmoid(pointwise.Scale(x, 2)), 2, -1)
}
