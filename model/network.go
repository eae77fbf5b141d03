package model

import (
	"fmt"
	"math"

	"mrprism/model/nn"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

// Features is the encoder's pyramid f₀.
type Features struct {
	E [5]*tensor.Tensor // e0 (B, S/2, S/2, ·) … e4 (B, S/32, S/32, ·)
	F *tensor.Tensor    // the bridge (B, S/64, S/64, ·)
}

// Network builds its parts into a builder's graph; the variables live in the builder's set.
type Network struct {
	Config
	*nn.Builder
	shift *tensor.Tensor // (B, 1, 1, K), what panels add to the mask's logits; nil: nothing
}

// Encoder is a ResNet of basic blocks (PAPER.md §2), or a MobileNetV2 if the configuration lists
// inverted residuals, with a bridge. x (B, S, S, 3).
func (n *Network) Encoder(x *tensor.Tensor) Features {
	if x.Dim(1)%SideMultiple != 0 || x.Dim(1) != x.Dim(2) {
		panic(fmt.Sprintf("model: the image %v is not a square whose side is a multiple of %d", x, SideMultiple))
	}
	var f Features
	if n.Inverted == nil {
		f.E = n.resNet(x)
	} else {
		f.E = n.mobileNet(x)
	}
	f.F = pointwise.ReLU(n.BatchNorm("encoder.bridge.1", n.Conv("encoder.bridge.0", f.E[4], 3, n.Bridge, 2, 1, false, true)))
	return f
}

func (n *Network) resNet(x *tensor.Tensor) (maps [5]*tensor.Tensor) {
	e := pointwise.ReLU(n.BatchNorm("encoder.bn1", n.Conv("encoder.conv1", x, 7, n.Stem, 2, 3, false, true)))
	maps[0] = e
	e = pool.Max(e, 3, 3, conv.Square(2, 1))
	for layer := range 4 {
		for i := range n.Blocks[layer] {
			stride := 1
			if layer > 0 && i == 0 {
				stride = 2
			}
			x, name := e, fmt.Sprintf("encoder.layer%d.%d", layer+1, i)
			e = n.Part(func() *tensor.Tensor { return n.basicBlock(name, x, n.Widths[layer], stride) })
		}
		maps[layer+1] = e
	}
	return maps
}

// basicBlock is ResNet's: two 3×3 convolutions and a shortcut, projected where the shape changes.
func (n *Network) basicBlock(name string, x *tensor.Tensor, width, stride int) *tensor.Tensor {
	y := pointwise.ReLU(n.BatchNorm(name+".bn1", n.Conv(name+".conv1", x, 3, width, stride, 1, false, true)))
	y = n.BatchNorm(name+".bn2", n.Conv(name+".conv2", y, 3, width, 1, 1, false, true))
	if stride != 1 || x.Dim(-1) != width {
		x = n.BatchNorm(name+".downsample.1", n.Conv(name+".downsample.0", x, 1, width, stride, 0, false, true))
	}
	return pointwise.ReLU(pointwise.Add(y, x))
}

// mobileNet is MobileNetV2 (Sandler et al. 2018) up to its last blocks. Each map is the last one of
// its side. Convolutions have a bias and no batch norm, and TensorFlow's padding (DECISIONS.md).
func (n *Network) mobileNet(x *tensor.Tensor) (maps [5]*tensor.Tensor) {
	e := pointwise.ReLU6(n.ConvIn("encoder.features.0.conv", x, 3, n.Stem, conv.Same(3, 2), true, true))
	block, level := 0, 0
	for _, group := range n.Inverted {
		for i := range group.Count {
			stride := 1
			if i == 0 && group.Stride == 2 {
				stride = 2
				level++
			}
			block++
			x, name := e, fmt.Sprintf("encoder.features.%d", block)
			e = n.Part(func() *tensor.Tensor { return n.invertedResidual(name, x, group, stride) })
			maps[level] = e
		}
	}
	return maps
}

// invertedResidual widens x by a 1×1 convolution, filters each channel, and narrows the result by
// another 1×1 convolution, which no activation follows.
func (n *Network) invertedResidual(name string, x *tensor.Tensor, group InvertedResiduals, stride int) *tensor.Tensor {
	y := x
	if group.Expansion > 1 {
		y = pointwise.ReLU6(n.Conv(name+".expand", y, 1, group.Expansion*x.Dim(-1), 1, 0, true, false))
	}
	y = pointwise.ReLU6(n.Depthwise(name+".depthwise", y, 3, conv.Same(3, stride)))
	y = n.Conv(name+".project", y, 1, group.Channels, 1, 0, true, false)
	if stride == 1 && x.Dim(-1) == group.Channels {
		y = pointwise.Add(y, x)
	}
	return y
}

// Embed turns log confidences w (B, S/8, S/8, M, K) into the queries of ConP's four stages, at
// S/32, S/16, S/8 and S/4.
func (n *Network) Embed(w *tensor.Tensor) [4]*tensor.Tensor {
	w = w.Reshape(w.Dim(0), w.Dim(1), w.Dim(2), w.Dim(3)*w.Dim(4))
	const prefix = "conp.confidence.stage"
	point := func(name string, x *tensor.Tensor, out int) *tensor.Tensor {
		return n.Conv(prefix+name, x, 1, out, 1, 0, true, false)
	}
	a, b, c := n.Embedding[0], n.Embedding[1], n.Embedding[2]

	x := n.Depthwise(prefix+"1.0", w, 5, conv.Square(2, 2))
	x = pointwise.ReLU(point("1.1", x, a))
	x = pointwise.ReLU(point("1.2", x, b))
	x = n.Depthwise(prefix+"1.3", x, 3, conv.Square(2, 1))
	x = pointwise.ReLU(point("1.4", x, c))
	stage1 := point("1.5", x, n.ConP[0])

	x = pointwise.ReLU(point("2.0", w, a))
	x = n.Depthwise(prefix+"2.1", x, 3, conv.Square(2, 1))
	x = pointwise.ReLU(point("2.2", x, b))
	stage2 := point("2.3", x, n.ConP[1])

	stage3 := point("3.1", pointwise.ReLU(point("3.0", w, a)), n.ConP[2])
	stage4 := point("4.0", pool.Resize(w, 2*w.Dim(1), 2*w.Dim(2)), n.ConP[3])
	return [4]*tensor.Tensor{stage1, stage2, stage3, stage4}
}

// ConPFeatures are maps inside ConP. Logits are the mask's, (B, S/2, S/2, K).
type ConPFeatures struct {
	Embedded, Stages [4]*tensor.Tensor
	Logits           *tensor.Tensor
}

// Converge is ConP: it makes the calibrated mask from the features f and log confidences w (B, S/8,
// S/8, M, K). It returns the probability at S/2 and, bilinearly enlarged, at S: (B, ·, ·, K).
func (n *Network) Converge(f Features, w *tensor.Tensor) (half, y *tensor.Tensor, inner ConPFeatures) {
	inner = n.decode(f, w)
	inner.Logits = n.MaskHead(inner.Stages[3])
	if n.shift != nil {
		inner.Logits = pointwise.Add(inner.Logits, pool.Resize(n.shift, inner.Logits.Dim(1), inner.Logits.Dim(2)))
	}
	half = pointwise.Sigmoid(inner.Logits)
	return half, Enlarge(half), inner
}

// decode is ConP without the mask.
func (n *Network) decode(f Features, w *tensor.Tensor) (inner ConPFeatures) {
	inner.Embedded = n.Embed(w)
	x := f.F
	for i := range n.ConP {
		from := x
		x = n.Part(func() *tensor.Tensor { return n.Stage(i, from, inner.Embedded[i], f.E[4-i]) })
		inner.Stages[i] = x
	}
	return inner
}

// MaskHead makes the mask's logits (B, S/2, S/2, K) from ConP's last map (B, S/4, S/4, ·).
func (n *Network) MaskHead(x *tensor.Tensor) *tensor.Tensor {
	return n.Repeat("conp.head", x, n.Classes, n.AreaLogit)
}

// MaskBias is the bias of MaskHead, (K).
const MaskBias = "conp.head.bias"

// Enlarge makes maps (B, h, w, ·) twice as large, bilinearly.
func Enlarge(x *tensor.Tensor) *tensor.Tensor { return pool.Resize(x, 2*x.Dim(1), 2*x.Dim(2)) }

// Stage is one stage of ConP. It enlarges x, takes the embedded confidences in, and merges the
// result with the encoder's map e.
func (n *Network) Stage(i int, x, embedded, e *tensor.Tensor) *tensor.Tensor {
	name, width := fmt.Sprintf("conp.stage%d", i+1), n.ConP[i]
	u := n.Repeat(name+".up", x, width, nil)
	if n.Steered {
		u = pointwise.Add(u, embedded)
	}
	both := pointwise.Concat(n.integrate(name, u, embedded), e)
	merged := pointwise.ReLU(n.BatchNorm(name+".merge.bn", n.Conv(mergeName(i, "conv"), both, 3, width, 1, 1, false, false)))
	return pointwise.Add(merged, n.Conv(mergeName(i, "shortcut"), both, 1, width, 1, 0, true, false))
}

// mergeName names a convolution, "conv" or "shortcut", that merges the map of stage i (from 0) of
// ConP with the encoder's map.
func mergeName(i int, what string) string { return fmt.Sprintf("conp.stage%d.merge.%s", i+1, what) }

// AreaLogit is where ConP's mask starts: the logit of the structure's share of pixels.
func (n *Network) AreaLogit(class int) float64 {
	share := 0.1
	if class < len(n.AreaPrior) {
		share = n.AreaPrior[class]
	}
	return math.Log(share / (1 - share))
}

// attention is nn's, with keys and values average-pooled to at most MaxKeys. The last windows may
// reach beyond the map.
func (n *Network) attention(name string, queries, context *tensor.Tensor, width, heads int) *tensor.Tensor {
	keys, h, w, r := n.Placed(context), context.Dim(1), context.Dim(2), 1
	for ((h+r-1)/r)*((w+r-1)/r) > n.MaxKeys {
		r *= 2
	}
	if r > 1 {
		windows := conv.Window{StrideY: r, StrideX: r, Bottom: (r - h%r) % r, Right: (r - w%r) % r}
		keys, context = pool.Average(keys, r, r, windows), pool.Average(context, r, r, windows)
	}
	return n.Attention(name, queries, keys, context, width, heads)
}

// anchoredHeads is DivP's last layer if the configuration is Anchored.
const anchoredHeads = "divp.heads.offset"

// anchoredRate multiplies the learning rate of that layer, and of PanelShift, which have the way
// from 0 to go in few steps.
const anchoredRate = 8

// AnchoredHeads is a parameter that only Anchored networks have.
const AnchoredHeads = anchoredHeads + ".weight"

// PanelShift is a parameter of training with panels, (P, K): what a panel adds to the mask's logits.
// It counts from the mean of all panels, which the mask's own bias learns.
const PanelShift = "conp.panels.bias"

// panelShift is what the panels who marked each image add to the mask's logits, (B, 1, 1, K). shares
// (B, 1, 1, P) are theirs, less 1/P.
func (n *Network) panelShift(shares *tensor.Tensor) *tensor.Tensor {
	shift := n.Parameter(PanelShift, func(int) float64 { return 0 }, n.Panels, n.Classes)
	n.Set.Lookup(PanelShift).Rate = anchoredRate
	return conv.Linear(shares, shift, nil)
}

// Diverge is DivP: it makes every rater's likely label z̃ (B, S/8, S/8, M, K), a probability, from
// the calibrated mask half (B, S/2, S/2, K). No gradient passes through half. logits (B, S/8, S/8,
// M·K) are z̃'s. Anchored, they are what is added to the mask's (begun), and z̃ is of no use.
func (n *Network) Diverge(half *tensor.Tensor) (zHat, logits *tensor.Tensor) {
	x := pointwise.ReLU(n.Conv("divp.stem", half.Detach(), 8, n.DivPStem, 2, 3, true, false))
	x = n.Linear("divp.project", pool.Max(x, 3, 3, conv.Square(2, 1)), n.DivP[0], true)
	for i, width := range n.DivP {
		from, name := x, fmt.Sprintf("divp.blocks.%d", i)
		x = n.Part(func() *tensor.Tensor { return n.AttentionBlock(name, from, width) })
	}
	width := n.Raters * n.RaterHead
	h := pointwise.Add(n.attention("divp.heads", x, x, width, n.Raters), n.Linear("divp.heads.shortcut", x, width, true))
	if n.Anchored {
		logits = n.GroupedChange(anchoredHeads, h, n.Raters, n.Classes)
		for _, part := range []string{".weight", ".bias"} {
			n.Set.Lookup(anchoredHeads + part).Rate = anchoredRate
		}
	} else {
		logits = n.GroupedLinear("divp.heads.output", h, n.Raters, n.Classes)
	}
	zHat = pointwise.Sigmoid(logits)
	return zHat.Reshape(zHat.Dim(0), zHat.Dim(1), zHat.Dim(2), n.Raters, n.Classes), logits
}

// AttentionBlock is DivP's multi-head attention block, post-norm. A linear map projects the
// residual if the width changes.
func (n *Network) AttentionBlock(name string, x *tensor.Tensor, width int) *tensor.Tensor {
	residual := x
	if x.Dim(-1) != width {
		residual = n.Linear(name+".residual", x, width, true)
	}
	attended := n.attention(name+".attention", x, x, width, n.DivPHeads)
	a := n.LayerNorm(name+".norm1", pointwise.Add(residual, n.Linear(name+".attention.output", attended, width, true)))
	return n.LayerNorm(name+".norm2", pointwise.Add(a, n.MLP(name+".mlp", a)))
}
