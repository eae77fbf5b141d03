// Package conv has convolutions and linear maps: in floats, in int8, depthwise, grouped and
// transposed. A dispatch can also compute the sums, scales and activation that follow it.
package conv

import (
	_ "embed"
	"fmt"
	"strings"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

//go:embed conv2d_geometry.wgsl
var conv2dGeometryPart string

//go:embed conv2d_common.wgsl
var conv2dCommonPart string

//go:embed conv2d.wgsl
var conv2dFile string

//go:embed conv2d_registers.wgsl
var conv2dRegistersFile string

//go:embed conv2d_subgroups.wgsl
var conv2dSubgroupsFile string

//go:embed conv2d_tiles.wgsl
var conv2dTilesFile string

// conv2dAxis says, for one axis, which pixels and weights meet and where results go. Position u in
// [0, Count) and tap t in [0, Taps) read x at u XStep + XStart + t XTap (zero outside [0, XSize)),
// use the weight at WStart + t WTap and write y at u YStep + YStart. XTap is 1 or -1.
//
// A convolution of stride s and padding p reads at u s - p + t and writes at u. Its gradient by x
// writes at u s + phase, one phase at a time. In a phase, only every s-th tap falls on a pixel of
// dy, and these taps read dy backwards. A transposed convolution exchanges the two roles.
type conv2dAxis struct {
	Count, Taps                int32
	XSize, XStep, XStart, XTap int32
	YSize, YStep, YStart       int32
	WSize, WStart, WTap        int32
}

// Params has the fields of the Params in conv2d_common.wgsl, which explains them.
type Params struct {
	Batch, Inputs, Outputs uint32
	HasBias, Adds          uint32
	Parts, Chunk           uint32
	Activation             uint32
	Rows, Cols             conv2dAxis
	Table, TableOutputs    uint32
}

var (
	// conv2dForward takes x, weight, bias, residual, shortcut, y. As a gradient by the input it
	// takes dy, the transposed weight, three arguments that it does not read, and dx.
	conv2dForward = &tensor.Kernel{
		Name: "conv2d_forward", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite},
		Body: tensor.Body(conv2dForwardBody), Fast: tensor.Fast(conv2dForwardFast),
		Variants: conv2dVariants("conv2d_forward", conv2dWhole, conv2dForwardGroups), Adds: addsToAll, Sloped: withSlope,
	}

	// conv2dSplit takes x, weight, bias, residual, shortcut, as conv2dForward does, and the two
	// parts of the result. The first part has Chunk outputs. If Chunk is 0, the first result is whole
	// and the other one is what it was before the activation.
	conv2dSplit = &tensor.Kernel{
		Name: "conv2d_split", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite},
		Body: tensor.Body(conv2dSplitBody), Fast: tensor.Fast(conv2dForwardFast),
		Variants: conv2dVariants("conv2d_forward", conv2dParted, conv2dForwardGroups),
	}

	// conv2dBackwardWeight takes x, dy, dw. Along columns, neighbouring taps read neighbouring
	// pixels and weights: XTap = WTap = 1.
	conv2dBackwardWeight = &tensor.Kernel{
		Name: "conv2d_backward_weight", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, Wide: []int{2},
		Body: tensor.Body(conv2dBackwardWeightBody), Fast: tensor.Fast(conv2dBackwardWeightFast),
		Variants: conv2dVariants("conv2d_backward_weight", conv2dWhole, conv2dWeightGroups), Adds: addsToAllWeights,
	}
)

// pixels is the number of positions (b, u, v).
func (p *Params) pixels() int { return int(p.Batch) * int(p.Rows.Count) * int(p.Cols.Count) }

// taps is the number of taps (t, s).
func (p *Params) taps() int { return int(p.Rows.Taps) * int(p.Cols.Taps) }

// place is the (b, u, v) of a position's number, from 0.
func (p *Params) place(position int) (b, u, v int32) {
	row := int32(position) / p.Cols.Count
	return row / p.Rows.Count, row % p.Rows.Count, int32(position) % p.Cols.Count
}

// destination is the pixel of y that a position writes.
func (p *Params) destination(position int) int {
	b, u, v := p.place(position)
	return int((b*p.Rows.YSize+u*p.Rows.YStep+p.Rows.YStart)*p.Cols.YSize + v*p.Cols.YStep + p.Cols.YStart)
}

// ordered says that position i writes pixel i of y.
func (p *Params) ordered() bool {
	return p.Rows.Count == p.Rows.YSize && p.Cols.Count == p.Cols.YSize
}

// addsToAll says that a gradient by x has all phases, and addsToAllWeights that one by the
// weight is a single part: each adds to all elements.
func addsToAll(params any) bool {
	p := params.(*Params)
	return p.Adds == addToY && p.Rows.Count*int32(p.Parts) == p.Rows.YSize && p.Cols.Count*int32(p.Parts) == p.Cols.YSize
}

func addsToAllWeights(params any) bool {
	return params.(*Params).Adds == addToY
}

// weightAt is the index, among the (kh, kw) of the weight, of a tap (t, s) given by its number.
func (p *Params) weightAt(tap int) int {
	t, s := int32(tap)/p.Cols.Taps, int32(tap)%p.Cols.Taps
	return int((p.Rows.WStart+t*p.Rows.WTap)*p.Cols.WSize + p.Cols.WStart + s*p.Cols.WTap)
}

// eachTap calls f for every tap of a position that falls inside the image, with the pixel of x and
// the tap of w.
func (p *Params) eachTap(position int, f func(x, w int)) {
	b, u, v := p.place(position)
	r, c := &p.Rows, &p.Cols
	for t := range r.Taps {
		row := u*r.XStep + r.XStart + t*r.XTap
		if row < 0 || row >= r.XSize {
			continue
		}
		for s := range c.Taps {
			if col := v*c.XStep + c.XStart + s*c.XTap; col >= 0 && col < c.XSize {
				f(int((b*r.XSize+row)*c.XSize+col), p.weightAt(int(t*c.Taps+s)))
			}
		}
	}
}

// conv2dVisit calls f for every position, numbered from 0, and every tap inside the image, with the
// pixels of x and y and the tap of w that meet there.
func conv2dVisit(p *Params, f func(position, x, w, y int)) {
	for position := range p.pixels() {
		y := p.destination(position)
		p.eachTap(position, func(x, w int) { f(position, x, w, y) })
	}
}

func conv2dBackwardWeightBody(p *Params, a []gpu.Array) {
	x, dy, dw := a[0].F, a[1].F, a[2].F
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	all := int(p.Rows.WSize * p.Cols.WSize) // taps of a part
	if p.Adds == 0 {
		for part := range int(p.Parts) {
			for tap := range p.taps() {
				clear(dw[(part*all+p.weightAt(tap))*inputs*outputs:][:inputs*outputs])
			}
		}
	}
	conv2dVisit(p, func(position, fromX, to, fromY int) {
		to += position / int(p.Chunk) * all
		for k := range inputs {
			for n := range outputs {
				dw[(to*inputs+k)*outputs+n] += x[fromX*inputs+k] * dy[fromY*outputs+n]
			}
		}
	})
}

// forwardAxis is the axis of a convolution from n to m pixels.
func forwardAxis(n, m, kernel, stride, before int) conv2dAxis {
	return conv2dAxis{
		Count: int32(m), Taps: int32(kernel),
		XSize: int32(n), XStep: int32(stride), XStart: int32(-before), XTap: 1,
		YSize: int32(m), YStep: 1, WSize: int32(kernel), WTap: 1,
	}
}

// adjointAxis is an axis of the gradient by x. It computes every stride-th of the n pixels of dx,
// from phase on, from the m pixels of dy.
func adjointAxis(n, m, kernel, stride, before, phase int) conv2dAxis {
	first := (phase + before) % stride
	return conv2dAxis{
		Count: int32(kernels.Ceil(n-phase, stride)), Taps: int32(kernels.Ceil(kernel-first, stride)),
		XSize: int32(m), XStep: 1, XStart: int32((phase + before - first) / stride), XTap: -1,
		YSize: int32(n), YStep: int32(stride), YStart: int32(phase),
		WSize: int32(kernel), WStart: int32(first), WTap: int32(stride),
	}
}

// phase is the axis of the n-th phase after this one.
func (a conv2dAxis) phase(n int32) conv2dAxis {
	first := a.WStart + n
	a.YStart, a.XStart, a.WStart = a.YStart+n, a.XStart+first/a.YStep, first%a.YStep
	a.Taps = (a.WSize - a.WStart + a.YStep - 1) / a.YStep
	return a
}

// conv2dGeometry is the geometry for x (B, H, W, Cin) with weight (kh, kw, Cin, Cout).
func conv2dGeometry(x, weight *tensor.Tensor, win Window) Params {
	kh, kw := weight.Dim(0), weight.Dim(1)
	rows, cols := win.Output("Conv2D", x.Dim(1), x.Dim(2), kh, kw)
	return Params{
		Batch: uint32(x.Dim(0)), Inputs: uint32(weight.Dim(2)), Outputs: uint32(weight.Dim(3)),
		Rows: forwardAxis(x.Dim(1), rows, kh, win.StrideY, win.Top),
		Cols: forwardAxis(x.Dim(2), cols, kw, win.StrideX, win.Left),
	}
}

// shape is the shape of y.
func (p *Params) shape() []int {
	return []int{int(p.Batch), int(p.Rows.YSize), int(p.Cols.YSize), int(p.Outputs)}
}

// convolutionKind is the kind of an operator that conv2dForward computes from x, weight and bias
// (or nil), with the geometry.
func convolutionKind(facts tensor.Kind, geometry func(op *tensor.Op) Params, gradient func(op *tensor.Op)) *tensor.Kind {
	facts.Gradient, facts.Compute = gradient, func(op *tensor.Op) {
		p := geometry(op)
		convolve(&p, op)
	}
	return &facts
}

// convolve dispatches the convolution of x, weight, bias, residual and shortcut to one output or
// two. The last three inputs may be missing.
func convolve(p *Params, op *tensor.Op) {
	kernel := conv2dForward
	if len(op.Outputs) == 2 {
		kernel = conv2dSplit
	}
	op.Dispatch(kernel, p, append(arguments(op), op.Outputs...)...)
}

// arguments are the inputs of a convolution up to the shortcut, as a kernel binds them.
func arguments(op *tensor.Op) []*tensor.Tensor {
	all := make([]*tensor.Tensor, ResultAt)
	copy(all, op.Inputs)
	return kernels.Bound(all)
}

// Conv2DKind takes x, weight and bias (or nil). Its attributes are its Window.
var Conv2DKind = convolutionKind(tensor.Kind{Name: "Conv2D", Images: 1, Halves: tensor.HalvesBegin}, conv2dForwardGeometry, func(op *tensor.Op) {
	x, weight, dy, win := op.Inputs[0], op.Inputs[1], op.Output().Gradient(), op.Attributes.(Window)
	if x.NeedsGradient() {
		w := pointwise.Transposed(weight)
		for _, p := range adjoints(dy, x, weight.Dim(0), weight.Dim(1), win) {
			convolveX(*p, dy, w, x.Gradient())
		}
	}
	if weight.NeedsGradient() {
		convolveWeight(conv2dBackwardWeight, x, dy, weight.Gradient(), conv2dForwardGeometry(op))
	}
	biasGradient(op.Inputs[2], dy)
})

func conv2dForwardGeometry(op *tensor.Op) Params {
	p := conv2dGeometry(op.Inputs[0], op.Inputs[1], op.Attributes.(Window))
	return p.withPhases(1, op.Inputs[2])
}

// withPhases sets the number of phases of an axis, and notes that there is a bias unless it is nil.
func (p Params) withPhases(phases uint32, bias *tensor.Tensor) Params {
	p.Parts = phases
	if bias != nil {
		p.HasBias = 1
	}
	return p
}

// Conv2D is the cross-correlation of x (B, H, W, Cin) with weight (kh, kw, Cin, Cout), plus bias
// (Cout) unless nil: (B, (H+Top+Bottom-kh)/StrideY+1, (W+Left+Right-kw)/StrideX+1, Cout).
func Conv2D(x, weight, bias *tensor.Tensor, win Window) *tensor.Tensor {
	kernels.RequireShape("Conv2D", "x", x, -1, -1, -1, -1)
	kernels.RequireShape("Conv2D", "weight", weight, -1, -1, x.Dim(3), -1)
	requireBias(weight, bias)
	if weight.Dim(0) == 1 && weight.Dim(1) == 1 && win == Square(1, 0) {
		return Linear(x, weight.Reshape(weight.Dim(2), weight.Dim(3)), bias)
	}
	p := conv2dGeometry(x, weight, win)
	return x.Graph().Apply(Conv2DKind, win, p.shape(), x, weight, bias)
}

// requireBias panics unless bias is nil or has the outputs of weight.
func requireBias(weight, bias *tensor.Tensor) {
	if bias != nil {
		kernels.RequireShape("bias", "of "+weight.String(), bias, weight.Dim(-1))
	}
}

// adjoints are the convolutions of dy that together make the gradient by x of a convolution with a
// kernel (kh, kw): one for all phases of the strides, or one for each phase that a tap reaches. The
// caller sets the channels.
func adjoints(dy, x *tensor.Tensor, kh, kw int, win Window) (gathers []*Params) {
	phases, stride := 1, win.StrideY
	if stride == win.StrideX && stride <= min(kh, kw) && x.Dim(1)%stride+x.Dim(2)%stride == 0 {
		phases = stride
	}
	for phaseY := 0; phaseY < min(stride, x.Dim(1)); phaseY += phases {
		for phaseX := 0; phaseX < min(win.StrideX, x.Dim(2)); phaseX += phases {
			p := &Params{
				Batch: uint32(x.Dim(0)), Parts: uint32(phases),
				Rows: adjointAxis(x.Dim(1), dy.Dim(1), kh, win.StrideY, win.Top, phaseY),
				Cols: adjointAxis(x.Dim(2), dy.Dim(2), kw, win.StrideX, win.Left, phaseX),
			}
			if p.taps() > 0 {
				gathers = append(gathers, p)
			}
		}
	}
	return gathers
}

// convolveX appends dx += dy * weight. The weight is transposed to (…, Cout, Cin).
func convolveX(p Params, dy, weight, dx *tensor.Tensor) {
	p.Inputs, p.Outputs, p.Adds, p.Parts = uint32(weight.Dim(-2)), uint32(weight.Dim(-1)), addToY, max(1, p.Parts)
	dx.Graph().Dispatch(conv2dForward, &p, dy, weight, weight, weight, weight, dx)
}

// convolveWeight appends dw += x * dy with the forward geometry p.
func convolveWeight(kernel *tensor.Kernel, x, dy, dw *tensor.Tensor, p Params) {
	pixels, results := p.pixels(), dw.Elements()
	splits := split(pixels, results, 512, 1<<18) // 64 tiles of 64 × 64
	if splits > 1 {
		splits = max(splits, split(pixels, results, 64, 1<<14)) // of few weights, 256 workgroups
	}
	to := dw
	if splits > 1 {
		to = dw.Graph().NewOf(gpu.F32, "parts of "+dw.String(), append([]int{splits}, dw.Shape()...))
	}
	p.Parts, p.Chunk = uint32(splits), uint32(kernels.Ceil(pixels, splits))
	if splits == 1 {
		p.Adds = addToY
	}
	dw.Graph().Dispatch(kernel, &p, x, dy, to)
	if splits > 1 {
		pointwise.SumRows(to, dw)
	}
}

// split is the number of parts into which a kernel with few results cuts its sums over n terms. All
// parts together have about `wanted` invocations, and each part has at least `terms` terms.
func split(n, results, terms, wanted int) int { return max(1, min(n/terms, wanted/results)) }

// biasGradient appends the gradient of a bias, the sum of dy over everything but channels.
func biasGradient(bias, dy *tensor.Tensor) {
	if bias != nil && bias.NeedsGradient() {
		pointwise.SumRows(dy, bias.Gradient())
	}
}

// Work describes what a dispatch of a kernel computes, and counts the operations.
func (p *Params) Work(kernel string) (shape string, operations float64) {
	phases, terms := 1, p.pixels()*p.taps()
	if !strings.HasSuffix(kernel, "weight") { // there Parts counts parts of a sum
		phases, terms = 0, 0
		p.eachPhase(func(q *Params) { phases, terms = phases+1, terms+q.pixels()*q.taps() })
	}
	channels, products := fmt.Sprintf("%d→%d", p.Inputs, p.Outputs), float64(p.Inputs)*float64(p.Outputs)
	if strings.HasPrefix(kernel, "depthwise") {
		channels, products = fmt.Sprint(p.Inputs), float64(p.Inputs)
	}
	shape = fmt.Sprintf("%d×%d×%d, %s, %d×%d", p.Batch, p.Rows.Count, p.Cols.Count, channels, p.Rows.Taps, p.Cols.Taps)
	if phases > 1 {
		shape += fmt.Sprintf(", %d phases", phases)
	}
	return shape, 2 * products * float64(terms)
}
