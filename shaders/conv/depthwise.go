package conv

import (
	_ "embed"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed depthwise.wgsl
var depthwiseFile string

//go:embed depthwise_tiles.wgsl
var depthwiseTilesFile string

// depthwiseTiles is the variant with tiles, in which an invocation has a quad of channels.
func depthwiseTiles(runs func(info gpu.Info, params any) bool, groups func(p *Params) [3]int) tensor.Variant {
	return tensor.Variant{
		Name: "tiles", Source: kernels.Joined(conv2dCommonPart, depthwiseTilesFile), Runs: runs, Prefers: kernels.OnGPU,
		Header: func(params any) string { return conv2dHeader(params.(*Params), 4, 4, conv2dWhole) },
		Groups: func(params any) [3]int { return groups(params.(*Params)) },
	}
}

// depthwisePlain is the variant with an invocation for each of n(p) results or quads.
func depthwisePlain(n func(p *Params) int) tensor.Variant {
	v := kernels.TwoWidths(kernels.Joined(conv2dCommonPart, depthwiseFile), (*Params).inQuads,
		func(p *Params, width int) [3]int { return tensor.Linear(n(p)/width, kernels.Workgroup) })
	v.Header = func(params any) string {
		p := params.(*Params)
		if p.inQuads() {
			return conv2dHeader(p, 4, 4, conv2dWhole)
		}
		return conv2dHeader(p, 1, 1, conv2dWhole)
	}
	return v
}

// inQuads says that outputs are a multiple of four.
func (p *Params) inQuads() bool { return p.Outputs%4 == 0 }

// The kernels of the depthwise convolution take Params with Inputs = Outputs = C.
var (
	depthwiseForward        = depthwiseGather("depthwise_forward")
	depthwiseBackwardX      = depthwiseGather("depthwise_backward_x")
	depthwiseBackwardWeight = kernels.InRows(conv2dParts, depthwiseWeightBody, depthwiseWeightFast, &tensor.Kernel{
		Name: "depthwise_backward_weight", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, Wide: []int{2}, Adds: addsToAllWeights,
		Variants: []tensor.Variant{
			depthwiseTiles(func(_ gpu.Info, params any) bool { return params.(*Params).inQuads() },
				func(p *Params) [3]int { return [3]int{int(p.Inputs) / 4, p.taps(), int(p.Parts)} }),
			depthwisePlain(func(p *Params) int { return int(p.Parts*p.Inputs) * p.taps() }),
		},
	})
)

func conv2dParts(p *Params) uint32     { return p.Parts }
func conv2dPositions(p *Params) uint32 { return uint32(p.pixels()) }

func depthwiseGather(name string) *tensor.Kernel {
	tiles := depthwiseTiles(fitsDepthwiseTiles, func(p *Params) [3]int {
		tiles := kernels.Ceil(int(p.Rows.Count), depthwiseRows) * kernels.Ceil(int(p.Cols.Count), depthwiseColumns)
		return [3]int{kernels.Ceil(int(p.Inputs), 4*depthwiseQuads), tiles, int(p.Batch * p.Parts * p.Parts)}
	})
	plain := depthwisePlain(func(p *Params) int { return p.pixels() * int(p.Inputs) })
	groups := plain.Groups
	plain.Groups = func(params any) [3]int { return params.(*Params).phased(groups(params)) }
	tiles.Entry, plain.Entry = "depthwise_forward", "depthwise_forward"
	return kernels.InRows(conv2dPositions, depthwiseForwardBody, depthwiseForwardFast, &tensor.Kernel{
		Name: name, Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, Variants: []tensor.Variant{tiles, plain}, Adds: addsToAll,
	})
}

// The constants of depthwise_tiles.wgsl.
const (
	depthwiseRows    = 4
	depthwiseColumns = 8
	depthwiseQuads   = 2
	depthwiseSeen    = 512
)

// fitsDepthwiseTiles says that workgroup memory has room for all pixels that a tile sees.
func fitsDepthwiseTiles(_ gpu.Info, params any) bool {
	p := params.(*Params)
	sees := func(a conv2dAxis, positions int32) int {
		most := (a.WSize + a.YStep - 1) / a.YStep // taps of a phase
		return int((positions-1)*a.XStep + max(a.XTap, -a.XTap)*(most-1) + 1)
	}
	return p.inQuads() && sees(p.Rows, depthwiseRows)*sees(p.Cols, depthwiseColumns)*depthwiseQuads <= depthwiseSeen
}

func depthwiseForwardBody(p *Params, a []gpu.Array, from, to int) {
	n := int(p.Inputs)
	p.eachPhase(func(p *Params) {
		for position := from; position < to; position++ {
			y := a[3].F[p.destination(position)*n:][:n]
			if p.Adds != addToY {
				clear(y)
			}
			if p.HasBias == 1 {
				vector.Add(y, a[2].F)
			}
			p.eachTap(position, func(x, w int) { vector.AddProducts(y, a[0].F[x*n:][:n], a[1].F[w*n:][:n]) })
			for i, v := range y {
				y[i] = pointwise.Activated(p.Activation, v)
			}
		}
	})
}

// depthwiseWeightBody computes the sums of parts [from, to) of the positions, for all taps.
func depthwiseWeightBody(p *Params, a []gpu.Array, from, to int) {
	n, positions := int(p.Inputs), p.pixels()
	for part := from; part < to; part++ {
		dw := a[2].F[part*p.taps()*n:][:p.taps()*n]
		if p.Adds == 0 {
			clear(dw)
		}
		for position := part * int(p.Chunk); position < min((part+1)*int(p.Chunk), positions); position++ {
			dy := a[1].F[p.destination(position)*n:][:n]
			p.eachTap(position, func(x, w int) { vector.AddProducts(dw[w*n:][:n], a[0].F[x*n:][:n], dy) })
		}
	}
}

// DepthwiseKind takes x, weight and bias (or nil). Its attributes are its Window.
var DepthwiseKind = &tensor.Kind{Name: "DepthwiseConv2D", Images: 1, Halves: tensor.HalvesBegin, Compute: func(op *tensor.Op) {
	p := DepthwiseGeometry(op)
	op.Dispatch(depthwiseForward, &p, append(kernels.Bound(op.Inputs), op.Output())...)
}, Gradient: func(op *tensor.Op) {
	x, weight, dy, channels := op.Inputs[0], op.Inputs[1], op.Output().Gradient(), uint32(op.Inputs[0].Dim(3))
	if x.NeedsGradient() {
		for _, p := range adjoints(dy, x, weight.Dim(0), weight.Dim(1), op.Attributes.(Window)) {
			p.Inputs, p.Outputs, p.Adds = channels, channels, 1
			op.Dispatch(depthwiseBackwardX, p, dy, weight, weight, x.Gradient())
		}
	}
	if weight.NeedsGradient() {
		p := DepthwiseGeometry(op)
		p.HasBias = 0
		convolveWeight(depthwiseBackwardWeight, x, dy, weight.Gradient(), p)
	}
	biasGradient(op.Inputs[2], dy)
}}

// FusedDepthwiseKind is a depthwise convolution with the activation after it. The rewrites make it.
// Its inputs are those of DepthwiseKind, its attributes are *Params.
var FusedDepthwiseKind = &tensor.Kind{Name: "Depthwise", Compute: func(op *tensor.Op) {
	op.Dispatch(depthwiseForward, op.Attributes, append(kernels.Bound(op.Inputs), op.Output())...)
}}

// DepthwiseGeometry is the geometry of an operator of DepthwiseKind.
func DepthwiseGeometry(op *tensor.Op) Params {
	x, y, weight, win := op.Inputs[0], op.Output(), op.Inputs[1], op.Attributes.(Window)
	channels := uint32(x.Dim(3))
	return Params{
		Batch: uint32(x.Dim(0)), Inputs: channels, Outputs: channels,
		Rows: forwardAxis(x.Dim(1), y.Dim(1), weight.Dim(0), win.StrideY, win.Top),
		Cols: forwardAxis(x.Dim(2), y.Dim(2), weight.Dim(1), win.StrideX, win.Left),
	}.withPhases(1, op.Inputs[2])
}

// DepthwiseConv2D is the cross-correlation of each channel of x (B, H, W, C) with its own kernel of
// weight (kh, kw, C), plus bias (C) unless nil.
func DepthwiseConv2D(x, weight, bias *tensor.Tensor, win Window) *tensor.Tensor {
	kernels.RequireShape("DepthwiseConv2D", "x", x, -1, -1, -1, -1)
	kernels.RequireShape("DepthwiseConv2D", "weight", weight, -1, -1, x.Dim(3))
	requireBias(weight, bias)
	rows, cols := win.Output("DepthwiseConv2D", x.Dim(1), x.Dim(2), weight.Dim(0), weight.Dim(1))
	return x.Graph().Apply(DepthwiseKind, win, []int{x.Dim(0), rows, cols, x.Dim(3)}, x, weight, bias)
}
