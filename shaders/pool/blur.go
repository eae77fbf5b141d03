package pool

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

//go:embed blur.wgsl
var blurFile string

type blurParams struct{ Outer, Length, Inner, Radius uint32 }

// blurRun is the number of neighbouring results that an invocation computes.
const blurRun = 8

// blur takes x, the window and y.
var blur = &tensor.Kernel{
	Name: "blur", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, Body: tensor.Body(blurBody), Fast: tensor.Fast(blurFast),
	Variants: []tensor.Variant{kernels.TwoWidths(blurFile, func(p *blurParams) bool { return p.Inner%4 == 0 }, blurRuns)},
}

// blurRuns are the workgroups of a variant whose invocations take `width` elements side by side.
func blurRuns(p *blurParams, width int) [3]int {
	return tensor.Linear(int(p.Outer*((p.Length+blurRun-1)/blurRun)*p.Inner)/width, kernels.Workgroup)
}

func (p *blurParams) elements() int { return int(p.Outer * p.Length * p.Inner) }

func blurBody(p *blurParams, a []gpu.Array) {
	inner, length, radius := int(p.Inner), int(p.Length), int(p.Radius)
	for i := range p.elements() {
		q, sum := i/inner%length, 0.0
		for t := max(-radius, -q); t <= min(radius, length-1-q); t++ {
			sum += a[1].F[t+radius] * a[0].F[i+t*inner]
		}
		a[2].F[i] = sum
	}
}

// gaussianWindow is the normalised window of 2·radius+1 weights.
func gaussianWindow(sigma float64, radius int) []float32 {
	w := make([]float32, 2*radius+1)
	sum := 0.0
	for t := -radius; t <= radius; t++ {
		sum += math.Exp(-float64(t*t) / (2 * sigma * sigma))
	}
	for t := -radius; t <= radius; t++ {
		w[t+radius] = float32(math.Exp(-float64(t*t)/(2*sigma*sigma)) / sum)
	}
	return w
}

// GaussianBlur filters x (B, H, W, C) with a separable Gaussian window of (2·radius+1)² pixels.
// Pixels outside the image count as zeros.
func GaussianBlur(x *tensor.Tensor, sigma float64, radius int) *tensor.Tensor {
	kernels.RequireShape("gaussian_blur", "input", x, -1, -1, -1, -1)
	b, h, w, c := uint32(x.Dim(0)), uint32(x.Dim(1)), uint32(x.Dim(2)), uint32(x.Dim(3))
	window := x.Graph().Constant("gaussian window", gaussianWindow(sigma, radius), 2*radius+1)
	rows := x.Graph().Apply(blurKind, &blurParams{b, h, w * c, uint32(radius)}, x.Shape(), x, window)
	return x.Graph().Apply(blurKind, &blurParams{b * h, w, c, uint32(radius)}, x.Shape(), rows, window)
}

// blurKind takes x and the window along one axis. The window is symmetric, so that the gradient is
// the same sum.
var blurKind = kernels.Operator(tensor.Kind{
	Name: "Blur", Passes: 1, Images: 1, Repeat: kernels.Repeat(func(p *blurParams, n uint32) { p.Outer *= n }),
}, blur, func(op *tensor.Op) {
	back := op.Graph().New("blurred gradient", op.Output().Shape())
	op.Dispatch(blur, op.Attributes, op.Output().Gradient(), op.Inputs[1], back)
	pointwise.AddTo(op.Inputs[0], back, 1)
})

// Work describes what a dispatch computes, and counts the operations.
func (p *blurParams) Work(string) (shape string, operations float64) {
	return fmt.Sprintf("%d×%d×%d", p.Outer, p.Length, p.Inner), 2 * float64(p.elements()) * float64(2*p.Radius+1)
}
