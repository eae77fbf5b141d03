// Package pool has the operators that gather neighbouring pixels without learned weights: pooling,
// resizing and blurring.
package pool

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed pool.wgsl
var poolSource string

type poolParams struct {
	Rows, Height, Width, Channels, OutHeight, OutWidth int32
	KernelY, KernelX, StrideY, StrideX, Top, Left      int32
}

// windows calls f for every output element with the input elements of its window, row by row. An
// image has `height` of the kernel's rows.
func (p *poolParams) windows(height int32, f func(out int, in []int)) {
	batch := int(p.Rows / height)
	h, w, n := int(p.Height), int(p.Width), int(p.Channels)
	for o := range batch * int(p.OutHeight*p.OutWidth) * n {
		c, ox, oy, b := o%n, o/n%int(p.OutWidth), o/n/int(p.OutWidth)%int(p.OutHeight), o/n/int(p.OutWidth*p.OutHeight)
		var in []int
		for ky := range int(p.KernelY) {
			for kx := range int(p.KernelX) {
				y, x := oy*int(p.StrideY)-int(p.Top)+ky, ox*int(p.StrideX)-int(p.Left)+kx
				if y >= 0 && y < h && x >= 0 && x < w {
					in = append(in, ((b*h+y)*w+x)*n+c)
				}
			}
		}
		f(o, in)
	}
}

// firstMaximum is the element of the window where x is largest, the first of several equal ones.
func firstMaximum(x []float64, window []int) int {
	best := window[0]
	for _, i := range window {
		if x[i] > x[best] || math.IsNaN(x[i]) {
			best = i
		}
	}
	return best
}

// byRows is a kernel with an invocation for each column of each row (imageGroups).
func byRows[P any](
	name, source string, arguments []gpu.Access, extent func(p *P) (columns, rows int32), body func(p *P, a []gpu.Array), fast func(p *P, a []gpu.Array32, split gpu.Split),
) *tensor.Kernel {
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body), Fast: tensor.Fast(fast),
		Variants: []tensor.Variant{{Source: source, Groups: func(params any) [3]int {
			columns, rows := extent(params.(*P))
			return imageGroups(int(columns), int(rows))
		}}},
	}
}

func poolOutputs(p *poolParams) (columns, rows int32) { return p.OutWidth * p.Channels, p.Rows }
func poolInputs(p *poolParams) (columns, rows int32)  { return p.Width * p.Channels, p.Rows }

var (
	unary  = []gpu.Access{gpu.Read, gpu.ReadWrite}
	binary = []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}

	maxPoolForward = byRows("max_pool_forward", poolSource, unary, poolOutputs, func(p *poolParams, a []gpu.Array) {
		p.windows(p.OutHeight, func(out int, in []int) { a[1].F[out] = a[0].F[firstMaximum(a[0].F, in)] })
	}, maxPoolFast)
	maxPoolPlace = kernels.Wide(byRows("max_pool_place", poolSource, unary, poolOutputs, func(p *poolParams, a []gpu.Array) {
		p.windows(p.OutHeight, func(out int, in []int) {
			a[1].F[out] = float64(firstMaximum(a[0].F, in) / int(p.Channels) % int(p.Height*p.Width))
		})
	}, maxPoolPlaceFast), 1)
	maxPoolBackward = kernels.Adding(kernels.Wide(byRows("max_pool_backward", poolSource, binary, poolInputs, func(p *poolParams, a []gpu.Array) {
		p.windows(p.Height, func(out int, in []int) {
			for _, i := range in {
				if i/int(p.Channels)%int(p.Height*p.Width) == int(a[1].F[out]) {
					a[2].F[i] += a[0].F[out]
				}
			}
		})
	}, maxPoolBackwardFast), 1))

	averagePoolForward = byRows("average_pool_forward", poolSource, unary, poolOutputs, func(p *poolParams, a []gpu.Array) {
		p.windows(p.OutHeight, func(out int, in []int) {
			a[1].F[out] = 0
			for _, i := range in {
				a[1].F[out] += a[0].F[i] / float64(len(in))
			}
		})
	}, averagePoolFast)
	averagePoolBackward = kernels.Adding(byRows("average_pool_backward", poolSource, unary, poolInputs, func(p *poolParams, a []gpu.Array) {
		p.windows(p.Height, func(out int, in []int) {
			for _, i := range in {
				a[1].F[i] += a[0].F[out] / float64(len(in))
			}
		})
	}, averagePoolBackwardFast))
)

// Pooling is a pooling's window, kh × kw pixels that move as Window says.
type Pooling struct {
	Height, Width int
	Window        conv.Window
}

// params are the parameters of the forward and the backward kernel.
func (w Pooling) params(x, y *tensor.Tensor) (forward, backward *poolParams) {
	p := poolParams{
		int32(y.Dim(0) * y.Dim(1)), int32(x.Dim(1)), int32(x.Dim(2)), int32(x.Dim(3)), int32(y.Dim(1)), int32(y.Dim(2)),
		int32(w.Height), int32(w.Width), int32(w.Window.StrideY), int32(w.Window.StrideX), int32(w.Window.Top), int32(w.Window.Left),
	}
	q := p
	q.Rows = int32(x.Dim(0) * x.Dim(1))
	return &p, &q
}

// poolingKind is the kind of a pooling by the kernel forward.
func poolingKind(facts tensor.Kind, forward *tensor.Kernel, gradient func(op *tensor.Op, forward, backward *poolParams)) *tensor.Kind {
	params := func(op *tensor.Op) (forward, backward *poolParams) {
		return op.Attributes.(Pooling).params(op.Inputs[0], op.Output())
	}
	facts.Compute = func(op *tensor.Op) {
		p, _ := params(op)
		op.Dispatch(forward, p, op.Inputs[0], op.Output())
	}
	facts.Gradient = func(op *tensor.Op) {
		p, q := params(op)
		gradient(op, p, q)
	}
	return &facts
}

var (
	MaxKind = poolingKind(tensor.Kind{Name: "MaxPool", Images: 1, Halves: tensor.HalvesFollow}, maxPoolForward, func(op *tensor.Op, forward, backward *poolParams) {
		places := op.Graph().NewOf(gpu.F32, "places of maxima", op.Output().Shape())
		op.Dispatch(maxPoolPlace, forward, op.Inputs[0], places)
		op.Dispatch(maxPoolBackward, backward, op.Output().Gradient(), places, op.Inputs[0].Gradient())
	})
	AverageKind = poolingKind(tensor.Kind{Name: "AveragePool", Images: 1, Halves: tensor.HalvesFollow}, averagePoolForward, func(op *tensor.Op, _, backward *poolParams) {
		op.Dispatch(averagePoolBackward, backward, op.Output().Gradient(), op.Inputs[0].Gradient())
	})
)

// Max is the largest pixel of each window of x (B, H, W, C), channel by channel. The gradient goes
// to the first of several equal maxima.
func Max(x *tensor.Tensor, kh, kw int, win conv.Window) *tensor.Tensor {
	return pool(MaxKind, x, kh, kw, win)
}

// Average is the mean of those pixels of each window of x (B, H, W, C) that lie in the image,
// channel by channel.
func Average(x *tensor.Tensor, kh, kw int, win conv.Window) *tensor.Tensor {
	return pool(AverageKind, x, kh, kw, win)
}

func pool(k *tensor.Kind, x *tensor.Tensor, kh, kw int, win conv.Window) *tensor.Tensor {
	kernels.RequireShape(k.Name, "input", x, -1, -1, -1, -1)
	if max(win.Top, win.Bottom) >= kh || max(win.Left, win.Right) >= kw {
		panic(fmt.Sprintf("%s: a window of %d×%d with %+v may lie outside the image", k.Name, kh, kw, win))
	}
	height, width := win.Output(k.Name, x.Dim(1), x.Dim(2), kh, kw)
	return x.Graph().Apply(k, Pooling{kh, kw, win}, []int{x.Dim(0), height, width, x.Dim(3)}, x)
}
