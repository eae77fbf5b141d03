package shaders

import "mrprism/internal/compute/tensor"

// Attributes are what an operator needs to know besides its inputs, for programs that write it in
// another language. Only the fields of its kind are set.
type Attributes struct {
	Window        Window
	Height, Width int     // of a window that pools
	Heads         int     // of attention
	Factor        float32 // of the scores of attention
	Low, High     float32 // of a clamp
	Epsilon       float32 // of a normalisation
}

// AttributesOf reads the attributes of an operator of this package.
func AttributesOf(op *tensor.Op) Attributes {
	switch a := op.Attributes.(type) {
	case Window:
		return Attributes{Window: a}
	case pooling:
		return Attributes{Window: a.Window, Height: a.Height, Width: a.Width}
	case *attentionParams:
		return Attributes{Heads: int(a.Heads), Factor: a.Scale}
	case *ClampLogParams:
		return Attributes{Low: a.Low, High: a.High}
	case *layerNormParams:
		return Attributes{Epsilon: a.Eps}
	}
	return Attributes{}
}
