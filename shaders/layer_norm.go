package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed layer_norm.wgsl
var layerNormSource string

type layerNormParams struct {
	Rows, Channels, Chunks uint32
	Eps                    float32
}

func layerNormRows(p *layerNormParams) uint32     { return p.Rows }
func layerNormStripes(p *layerNormParams) uint32  { return p.Chunks * p.Channels }
func layerNormChannels(p *layerNormParams) uint32 { return p.Channels }

var (
	layerNormForward = wide(faster(perElement("layer_norm_forward", layerNormSource, []gpu.Access{read, read, read, write, write}, layerNormRows,
		func(p *layerNormParams, a []gpu.Array) {
			x, scale, bias, y, saved, n := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, int(p.Channels)
			for row := range int(p.Rows) {
				mean, variance := 0.0, 0.0
				for c := range n {
					mean += x[row*n+c] / float64(n)
				}
				for c := range n {
					variance += (x[row*n+c] - mean) * (x[row*n+c] - mean) / float64(n)
				}
				r := 1 / math.Sqrt(variance+float64(p.Eps))
				for c := range n {
					y[row*n+c] = (x[row*n+c]-mean)*r*scale[c] + bias[c]
				}
				saved[row], saved[int(p.Rows)+row] = mean, r
			}
		}), layerNormForwardFast), 4)

	layerNormBackwardX = wide(perElement("layer_norm_backward_x", layerNormSource, []gpu.Access{read, read, read, read, write}, layerNormRows,
		func(p *layerNormParams, a []gpu.Array) {
			x, dy, saved, scale, dx, n := a[0].F, a[1].F, a[2].F, a[3].F, a[4].F, int(p.Channels)
			for row := range int(p.Rows) {
				mean, r := saved[row], saved[int(p.Rows)+row]
				g, gx := 0.0, 0.0
				for c := range n {
					g += dy[row*n+c] * scale[c] / float64(n)
					gx += dy[row*n+c] * scale[c] * (x[row*n+c] - mean) * r / float64(n)
				}
				for c := range n {
					dx[row*n+c] += r * (dy[row*n+c]*scale[c] - g - (x[row*n+c]-mean)*r*gx)
				}
			}
		}), 2)

	layerNormBackwardPartial = wide(perElement("layer_norm_backward_partial", layerNormSource, []gpu.Access{read, read, read, write}, layerNormStripes,
		func(p *layerNormParams, a []gpu.Array) {
			x, dy, saved, partials := a[0].F, a[1].F, a[2].F, a[3].F
			step := p.Chunks * p.Channels
			for i := range step {
				partials[i], partials[step+i] = 0, 0
				for at := i; at < p.Rows*p.Channels; at += step {
					row := at / p.Channels
					partials[i] += dy[at] * (x[at] - saved[row]) * saved[p.Rows+row]
					partials[step+i] += dy[at]
				}
			}
		}), 2, 3)

	layerNormBackwardParameters = perElement("layer_norm_backward_parameters", layerNormSource, []gpu.Access{read, write, write}, layerNormChannels,
		func(p *layerNormParams, a []gpu.Array) {
			partials, dscale, dbias := a[0].F, a[1].F, a[2].F
			for i := range p.Chunks * p.Channels {
				dscale[i%p.Channels] += partials[i]
				dbias[i%p.Channels] += partials[p.Chunks*p.Channels+i]
			}
		})
)

// LayerNorm normalises x (…, C) over its last extent to mean 0 and variance 1, then applies scale and bias (C).
func LayerNorm(x, scale, bias *Tensor, eps float32) *Tensor {
	channels := x.Dim(-1)
	requireShape("LayerNorm", "scale", scale, channels)
	requireShape("LayerNorm", "bias", bias, channels)
	g := x.Graph()
	rows := x.Elements() / channels
	p := &layerNormParams{uint32(rows), uint32(channels), uint32(reductionStripes(rows)), eps}
	y := g.New("layer norm", x.Shape(), x, scale, bias)
	saved := g.NewOf(gpu.F32, "layer norm statistics", []int{2, rows})
	g.Dispatch(layerNormForward, p, x, scale, bias, y, saved)
	g.OnBackward(y, func() {
		if x.NeedsGradient() {
			g.Dispatch(layerNormBackwardX, p, x, y.Gradient(), saved, scale, x.Gradient())
		}
		if scale.NeedsGradient() || bias.NeedsGradient() {
			partials := g.NewOf(gpu.F32, "layer norm sums", []int{2, int(p.Chunks), channels})
			g.Dispatch(layerNormBackwardPartial, p, x, y.Gradient(), saved, partials)
			g.Dispatch(layerNormBackwardParameters, p, partials, gradientOrScratch(scale), gradientOrScratch(bias))
		}
	})
	return y
}

// gradientOrScratch is where a kernel that computes several gradients puts that of t: memory nobody reads if none is wanted.
func gradientOrScratch(t *Tensor) *Tensor {
	if t.NeedsGradient() {
		return t.Gradient()
	}
	return t.Graph().NewOf(gpu.F32, "unused gradient", t.Shape())
}
