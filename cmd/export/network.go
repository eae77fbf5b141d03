package main

import (
	"fmt"
	"math"

	"mrprism/internal/format/onnx"
	"mrprism/model"
)

// features is the encoder's pyramid f₀ as ONNX has maps, channels first.
type features struct {
	e [5]*onnx.Value // e[1] (1, ·, S/4, S/4) … e[4] (1, ·, S/32, S/32)
	f *onnx.Value    // the bridge (1, ·, S/64, S/64)
}

// network appends the network of package model to an ONNX graph, block by block as model/network.go does. Maps are (1, C, H, W),
// tokens (1, H·W, C).
type network struct {
	*onnx.Graph
	model.Config
	weights parameters

	heads        bool // DivP is trained; otherwise there is one pass and nothing about raters
	ownAttention bool // attention is ONNX Runtime's own operator
}

// The constants of inference, as package model has them.
const (
	lowest  = 1e-3 // the clamp of every probability before a logarithm; from above the sigmoid holds it
	epsilon = 1e-5 // of batch and layer normalisation
)

var startConfidence = math.Log(0.5) // w₀

// inference is what model.Inference computes: from the normalised image x (1, 3, S, S) the masks rec0, rec1, … (1, K, S, S), one a pass,
// and of the last pass the raters' likely labels (1, M, K, S, S), of which agreement levels
// are nested, as package segment does it.
func (n *network) inference(side, passes int) {
	f := n.encoder(n.Input("x", 1, 3, side, side))
	skips := n.skips(f, true)
	w := n.Constant("start confidence", func() []float64 {
		return repeat(startConfidence, n.Raters*n.Classes*side/8*side/8)
	}, 1, n.Raters*n.Classes, side/8, side/8)
	for pass := range passes {
		back := n.Within(fmt.Sprintf("rec%d", pass))
		half := n.converge(f.f, skips, w)
		n.Output(fmt.Sprintf("rec%d", pass), n.structures(n.Resize(half, 2), 1))
		if !n.heads {
			back()
			return
		}
		zHat := n.diverge(half)
		if pass == passes-1 {
			raters := n.Reshape(n.Resize(zHat, 8), 1, n.Raters, n.Classes, side, side)
			raters = n.structures(raters, 2)
			if n.Levels {
				raters = n.nested(raters, 1)
			}
			n.Output("raters", raters)
		} else {
			w = n.Log(n.AtLeast(zHat, lowest))
		}
		back()
	}
}

// encoding is the encoder alone: x (1, 3, S, S) to what all passes share, f0 and the skips.
func (n *network) encoding(side int) {
	f := n.encoder(n.Input("x", 1, 3, side, side))
	for i, s := range n.skips(f, false) {
		n.Output(fmt.Sprintf("merge%d", i+1), s.merge)
		n.Output(fmt.Sprintf("shortcut%d", i+1), s.shortcut)
	}
	n.Output("f0", f.f)
}

// structures are nested, along that axis, unless they are independent.
func (n *network) structures(x *onnx.Value, axis int) *onnx.Value {
	if n.Independent {
		return x
	}
	return n.nested(x, axis)
}

// nested makes every map, along that axis, lie inside the one before: cup = min(cup, disc).
func (n *network) nested(x *onnx.Value, axis int) *onnx.Value {
	if x.Dim(axis) == 1 {
		return x
	}
	maps := n.Split(x, axis)
	for i := 1; i < len(maps); i++ {
		maps[i] = n.Min(maps[i-1], maps[i])
	}
	return n.Concat(axis, maps...)
}

// encoder is a ResNet of basic blocks with a bridge.
func (n *network) encoder(x *onnx.Value) features {
	defer n.Within("encoder")()
	var f features
	e := n.Relu(n.convNorm("encoder.conv1", "encoder.bn1", x, 2, 3))
	e = n.MaxPool(e, 3, 2, 1)
	for layer := range 4 {
		for i := range n.Blocks[layer] {
			stride := 1
			if layer > 0 && i == 0 {
				stride = 2
			}
			e = n.basicBlock(fmt.Sprintf("encoder.layer%d.%d", layer+1, i), e, n.Widths[layer], stride)
		}
		f.e[layer+1] = e
	}
	f.f = n.Relu(n.convNorm("encoder.bridge.0", "encoder.bridge.1", e, 2, 1))
	return f
}

// basicBlock is ResNet's: two 3×3 convolutions and a shortcut, projected where the shape changes.
func (n *network) basicBlock(name string, x *onnx.Value, width, stride int) *onnx.Value {
	y := n.Relu(n.convNorm(name+".conv1", name+".bn1", x, stride, 1))
	y = n.convNorm(name+".conv2", name+".bn2", y, 1, 1)
	if stride != 1 || x.Dim(1) != width {
		x = n.convNorm(name+".downsample.0", name+".downsample.1", x, stride, 0)
	}
	return n.Relu(n.Add(y, x))
}

// embed turns log confidences w (1, M·K, S/8, S/8) into the queries of ConP's four stages, at S/32, S/16, S/8 and S/4.
func (n *network) embed(w *onnx.Value) [4]*onnx.Value {
	defer n.Within("conp.confidence")()
	const prefix = "conp.confidence.stage"
	point := func(name string, x *onnx.Value) *onnx.Value { return n.conv(prefix+name, x, 1, 0) }

	x := n.depthwise(prefix+"1.0", w, 2)
	x = n.Relu(point("1.1", x))
	x = n.Relu(point("1.2", x))
	x = n.depthwise(prefix+"1.3", x, 2)
	x = n.Relu(point("1.4", x))
	stage1 := point("1.5", x)

	x = n.Relu(point("2.0", w))
	x = n.depthwise(prefix+"2.1", x, 2)
	x = n.Relu(point("2.2", x))
	stage2 := point("2.3", x)

	stage3 := point("3.1", n.Relu(point("3.0", w)))
	stage4 := point("4.0", n.Resize(w, 2))
	return [4]*onnx.Value{stage1, stage2, stage3, stage4}
}

// skip is what the merge of one of ConP's stages makes of the encoder's map beside it.
type skip struct{ merge, shortcut *onnx.Value }

// skips are the encoder's share in the merges of ConP, with the scale of the batch norm that follows or without.
func (n *network) skips(f features, scaled bool) (skips [4]skip) {
	defer n.Within("conp.skips")()
	for i, width := range n.ConP {
		name := fmt.Sprintf("conp.stage%d.merge", i+1)
		var scale []float64
		if scaled {
			scale, _ = n.norm(name + ".bn")
		}
		skips[i] = skip{
			n.convolution(name+".conv", f.e[4-i], width, 1, 1, nil, scale),
			n.convolution(name+".shortcut", f.e[4-i], width, 1, 0, n.weights.wide(name+".shortcut.bias"), nil),
		}
	}
	return skips
}

// converge is ConP: the calibrated mask at S/2, (1, K, S/2, S/2), from the bridge x, the skips and log confidences w (1, M·K, S/8, S/8).
func (n *network) converge(x *onnx.Value, skips [4]skip, w *onnx.Value) *onnx.Value {
	embedded := n.embed(w)
	for i, width := range n.ConP {
		name := fmt.Sprintf("conp.stage%d", i+1)
		back := n.Within(name)
		u := n.up(name+".up", x)
		if n.Steered {
			u = n.Add(u, embedded[i])
		}
		ut, e := tokens(n, u), n.positions(u.Dim(2), u.Dim(3), width)
		key, value := n.keys(ut, u, e)
		attended := n.attention(name+".attention", n.Add(tokens(n, embedded[i]), e), key, value, max(1, width/64))
		a := n.layerNorm(name+".norm1", n.Add(ut, n.linear(name+".attention.output", attended)))
		a = n.layerNorm(name+".norm2", n.Add(a, n.mlp(name+".mlp", a)))
		own := plane(n, a, u.Dim(2), u.Dim(3))
		merged := n.Relu(n.Add(n.convNorm(name+".merge.conv", name+".merge.bn", own, 1, 1), skips[i].merge))
		x = n.Add(merged, n.Add(n.convolution(name+".merge.shortcut", own, 0, 1, 0, nil, nil), skips[i].shortcut))
		back()
	}
	return n.Sigmoid(n.up("conp.head", x))
}

// diverge is DivP: every rater's likely label z̃ (1, M·K, S/8, S/8) from the calibrated mask half (1, K, S/2, S/2).
func (n *network) diverge(half *onnx.Value) *onnx.Value {
	defer n.Within("divp")()
	stem := n.MaxPool(n.Relu(n.conv("divp.stem", half, 2, 3)), 3, 2, 1)
	height, width := stem.Dim(2), stem.Dim(3)
	x := n.linear("divp.project", tokens(n, stem))
	for i := range n.DivP {
		x = n.attentionBlock(fmt.Sprintf("divp.blocks.%d", i), x, n.DivP[i], height, width)
	}
	h := n.selfAttention("divp.heads", x, height, width, n.Raters)
	h = n.Add(h, n.linear("divp.heads.shortcut", x))
	return n.Sigmoid(n.groupedLinear("divp.heads.output", plane(n, h, height, width)))
}

// attentionBlock is DivP's MHA block on tokens of a map height × width, post-norm; the residual is projected where channels change.
func (n *network) attentionBlock(name string, x *onnx.Value, channels, height, width int) *onnx.Value {
	defer n.Within(name)()
	attended := n.selfAttention(name+".attention", x, height, width, n.DivPHeads)
	residual := x
	if x.Dim(-1) != channels {
		residual = n.linear(name+".residual", x)
	}
	a := n.layerNorm(name+".norm1", n.Add(residual, n.linear(name+".attention.output", attended)))
	return n.layerNorm(name+".norm2", n.Add(a, n.mlp(name+".mlp", a)))
}

// selfAttention is attention of tokens x to themselves, with positions in query and key.
func (n *network) selfAttention(name string, x *onnx.Value, height, width, heads int) *onnx.Value {
	e := n.positions(height, width, x.Dim(-1))
	query := n.Add(x, e)
	key, value := query, x
	if n.pooling(height, width) > 1 {
		key, value = n.keys(x, plane(n, x, height, width), e)
	}
	return n.attention(name, query, key, value, heads)
}
