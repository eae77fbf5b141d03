package pool

import (
	_ "embed"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed resize.wgsl
var resizeSource string

type resizeParams struct{ Rows, Height, Width, Channels, OutHeight, OutWidth int32 }

// imageGroups are workgroups for an image: along x an invocation for each of `columns` elements,
// along y and z a workgroup for each row.
func imageGroups(columns, rows int) [3]int {
	const limit = 65535
	layers := (rows + limit - 1) / limit
	return [3]int{(columns + kernels.Workgroup - 1) / kernels.Workgroup, (rows + layers - 1) / layers, layers}
}

// bilinear returns the two inputs between which output o lies, and the weight f of the second.
func bilinear(o, inputs, outputs int) (i0, i1 int, f float64) {
	s := (float64(o)+0.5)*float64(inputs)/float64(outputs) - 0.5
	s = min(max(s, 0), float64(inputs-1))
	i0 = int(math.Floor(s))
	return i0, min(i0+1, inputs-1), s - float64(i0)
}

// taps calls f with each output element, each of the four input elements that it mixes, and the
// weight of that element.
func (p *resizeParams) taps(f func(out, in int, weight float64)) {
	h, w, n := int(p.Height), int(p.Width), int(p.Channels)
	outHeight, outWidth := int(p.OutHeight), int(p.OutWidth)
	batch := int(p.Rows) / outHeight
	for b := range batch {
		for oy := range outHeight {
			y0, y1, fy := bilinear(oy, h, outHeight)
			for ox := range outWidth {
				x0, x1, fx := bilinear(ox, w, outWidth)
				for c := range n {
					out := ((b*outHeight+oy)*outWidth+ox)*n + c
					at := func(y, x int) int { return ((b*h+y)*w+x)*n + c }
					f(out, at(y0, x0), (1-fy)*(1-fx))
					f(out, at(y0, x1), (1-fy)*fx)
					f(out, at(y1, x0), fy*(1-fx))
					f(out, at(y1, x1), fy*fx)
				}
			}
		}
	}
}

var (
	resizeForward = byRows("resize_forward", resizeSource, unary, func(p *resizeParams) (columns, rows int32) { return p.OutWidth, p.Rows },
		func(p *resizeParams, a []gpu.Array) {
			clear(a[1].F[:p.Rows*p.OutWidth*p.Channels])
			p.taps(func(out, in int, weight float64) { a[1].F[out] += weight * a[0].F[in] })
		}, resizeForwardFast)
	resizeBackward = kernels.Adding(byRows("resize_backward", resizeSource, unary, func(p *resizeParams) (columns, rows int32) { return p.Width * p.Channels, p.Rows },
		func(p *resizeParams, a []gpu.Array) {
			forward := *p
			forward.Rows = p.Rows / p.Height * p.OutHeight
			forward.taps(func(out, in int, weight float64) { a[1].F[in] += weight * a[0].F[out] })
		}, resizeBackwardFast))
)

// ResizeKind has no attributes: the shapes of x and y say all.
var ResizeKind = &tensor.Kind{Name: "Resize", Images: 1, Halves: tensor.HalvesFollow, Compute: func(op *tensor.Op) {
	x, y := op.Inputs[0], op.Output()
	op.Dispatch(resizeForward, resizing(x, y, y.Dim(1)), x, y)
}, Gradient: func(op *tensor.Op) {
	x, y := op.Inputs[0], op.Output()
	op.Dispatch(resizeBackward, resizing(x, y, x.Dim(1)), y.Gradient(), x.Gradient())
}}

func resizing(x, y *tensor.Tensor, rows int) *resizeParams {
	return &resizeParams{
		int32(x.Dim(0) * rows), int32(x.Dim(1)), int32(x.Dim(2)), int32(x.Dim(3)), int32(y.Dim(1)), int32(y.Dim(2)),
	}
}

// Resize resamples x (B, H, W, C) bilinearly to height × width: half-pixel positions, edges
// clamped, as PyTorch's interpolate with align_corners=False. Shrinking does not filter.
func Resize(x *tensor.Tensor, height, width int) *tensor.Tensor {
	kernels.RequireShape("Resize", "input", x, -1, -1, -1, -1)
	return x.Graph().Apply(ResizeKind, nil, []int{x.Dim(0), height, width, x.Dim(3)}, x)
}
