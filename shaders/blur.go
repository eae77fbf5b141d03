package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed blur.wgsl
var blurSource string

type blurParams struct{ Outer, Length, Inner, Radius uint32 }

// blurRun is how many neighbours an invocation computes.
const blurRun = 8

func blurRuns(p *blurParams) uint32  { return p.Outer * ((p.Length + blurRun - 1) / blurRun) * p.Inner }
func blurCount(p *blurParams) uint32 { return p.Outer * p.Length * p.Inner }

// blurred is Σ_t window[t] x[q+t-R] at element i.
func (p *blurParams) blurred(i int, x, window []float64) float64 {
	q, radius, sum := i/int(p.Inner)%int(p.Length), int(p.Radius), 0.0
	for t := -radius; t <= radius; t++ {
		if q+t >= 0 && q+t < int(p.Length) {
			sum += window[t+radius] * x[i+t*int(p.Inner)]
		}
	}
	return sum
}

var (
	blurForward = perElement("blur_forward", blurSource, []gpu.Access{read, read, write}, blurRuns,
		func(p *blurParams, a []gpu.Array) {
			for i := range int(blurCount(p)) {
				a[2].F[i] = p.blurred(i, a[0].F, a[1].F)
			}
		})
	blurBackward = perElement("blur_backward", blurSource, []gpu.Access{read, read, write}, blurRuns,
		func(p *blurParams, a []gpu.Array) {
			for i := range int(blurCount(p)) {
				a[2].F[i] += p.blurred(i, a[0].F, a[1].F)
			}
		})
)

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

// GaussianBlur filters x (B, H, W, C) with a separable Gaussian window of (2·radius+1)² pixels; outside the image are zeros.
func GaussianBlur(x *Tensor, sigma float64, radius int) *Tensor {
	requireShape("gaussian_blur", "input", x, -1, -1, -1, -1)
	b, h, w, c := uint32(x.Dim(0)), uint32(x.Dim(1)), uint32(x.Dim(2)), uint32(x.Dim(3))
	window := x.Graph().Constant("gaussian window", gaussianWindow(sigma, radius), 2*radius+1)
	rows := blurAxis(x, window, &blurParams{b, h, w * c, uint32(radius)})
	return blurAxis(rows, window, &blurParams{b * h, w, c, uint32(radius)})
}

func blurAxis(x, window *Tensor, p *blurParams) *Tensor {
	g := x.Graph()
	y := g.New("blur", x.Shape(), x)
	g.Dispatch(blurForward, p, x, window, y)
	g.OnBackward(y, func() { g.Dispatch(blurBackward, p, y.Gradient(), window, x.Gradient()) })
	return y
}
