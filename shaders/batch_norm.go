package shaders

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/internal/gpu"
)

//go:embed batch_norm.wgsl
var batchNormFile string

type batchNormParams struct {
	Rows, Channels, Chunks, Relu, Training uint32
	Eps, Momentum                          float32
}

func batchNormStripes(p *batchNormParams) uint32  { return p.Chunks * p.Channels }
func batchNormChannels(p *batchNormParams) uint32 { return p.Channels }
func batchNormQuads(p *batchNormParams) bool      { return p.Channels%4 == 0 }

// normalised is x̂ and y, before the ReLU, at element i.
func (p *batchNormParams) normalised(i int, x, statistics, scale, bias []float64) (xHat, y float64) {
	c := i % int(p.Channels)
	xHat = (x[i] - statistics[c]) * statistics[int(p.Channels)+c]
	return xHat, xHat*scale[c] + bias[c]
}

// passed is x̂ and the gradient that the ReLU, if there is one, lets through at element i.
func (p *batchNormParams) passed(i int, x, statistics, scale, bias, dy []float64) (xHat, g float64) {
	xHat, y := p.normalised(i, x, statistics, scale, bias)
	if p.Relu == 1 && y <= 0 {
		return xHat, 0
	}
	return xHat, dy[i]
}

var (
	batchNormPartial = wide(columnwise("batch_norm_partial", batchNormFile, []gpu.Access{read, write}, batchNormStripes, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			x, moments, step := a[0].F, a[1].F, int(p.Chunks*p.Channels)
			for i := range step {
				n, sum, squares := 0.0, 0.0, 0.0
				for at := i; at < int(p.Rows*p.Channels); at += step {
					n, sum = n+1, sum+x[at]
				}
				for at := i; at < int(p.Rows*p.Channels); at += step {
					squares += (x[at] - sum/n) * (x[at] - sum/n)
				}
				moments[i], moments[step+i] = sum/n, squares
			}
		}), 1)

	batchNormStatistics = columnwise("batch_norm_statistics", batchNormFile, []gpu.Access{read, write, write, write}, batchNormChannels, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			moments, saved, movingMean, movingVariance := a[0].F, a[1].F, a[2].F, a[3].F
			n, channels, chunks := float64(p.Rows), int(p.Channels), int(p.Chunks)
			for c := range channels {
				mean, squares := 0.0, 0.0
				for chunk := range chunks {
					rows := (int(p.Rows) - chunk + chunks - 1) / chunks
					mean += float64(rows) / n * moments[chunk*channels+c]
				}
				for chunk := range chunks {
					rows, d := (int(p.Rows)-chunk+chunks-1)/chunks, moments[chunk*channels+c]-mean
					squares += moments[(chunks+chunk)*channels+c] + float64(rows)*d*d
				}
				saved[c], saved[channels+c] = mean, 1/math.Sqrt(squares/n+float64(p.Eps))
				movingMean[c] += float64(p.Momentum) * (mean - movingMean[c])
				movingVariance[c] += float64(p.Momentum) * (squares/(n-1) - movingVariance[c])
			}
		})

	batchNormRunning = wide(columnwise("batch_norm_running", batchNormFile, []gpu.Access{read, write, read}, batchNormChannels, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			for c := range p.Channels {
				a[1].F[c] = a[0].F[c]
				a[1].F[p.Channels+c] = 1 / math.Sqrt(a[2].F[c]+float64(p.Eps))
			}
		}), 1)

	batchNormScaleShift = wide(columnwise("batch_norm_scale_shift", batchNormFile, []gpu.Access{write, read, read, read}, batchNormChannels, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			out, statistics, n := a[0].F, a[1].F, int(p.Channels)
			for c := range n {
				out[c] = statistics[n+c] * a[2].F[c]
				out[n+c] = a[3].F[c] - statistics[c]*out[c]
			}
		}), 1)

	scaleShiftForward = columnwise("scale_shift_forward", batchNormFile, []gpu.Access{read, read, write}, batchNormStripes, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			for i := range int(p.Rows * p.Channels) {
				c := i % int(p.Channels)
				a[2].F[i] = a[0].F[i]*a[1].F[c] + a[1].F[int(p.Channels)+c]
				if p.Relu == 1 {
					a[2].F[i] = max(a[2].F[i], 0)
				}
			}
		})

	batchNormForward = wide(columnwise("batch_norm_forward", batchNormFile, []gpu.Access{read, read, read, read, write}, batchNormStripes, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			for i := range int(p.Rows * p.Channels) {
				_, y := p.normalised(i, a[0].F, a[1].F, a[2].F, a[3].F)
				if p.Relu == 1 {
					y = max(y, 0)
				}
				a[4].F[i] = y
			}
		}), 1)

	batchNormBackwardPartial = wide(columnwise("batch_norm_backward_partial", batchNormFile,
		[]gpu.Access{read, read, read, read, read, write}, batchNormStripes, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			partials, step := a[5].F, int(p.Chunks*p.Channels)
			for i := range step {
				partials[i], partials[step+i] = 0, 0
				for at := i; at < int(p.Rows*p.Channels); at += step {
					xHat, g := p.passed(at, a[0].F, a[1].F, a[2].F, a[3].F, a[4].F)
					partials[i] += g * xHat
					partials[step+i] += g
				}
			}
		}), 1, 5)

	batchNormBackwardSums = columnwise("batch_norm_backward_sums", batchNormFile, []gpu.Access{read, write, write, write}, batchNormChannels, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			partials, sums, dscale, dbias := a[0].F, a[1].F, a[2].F, a[3].F
			for c := range p.Channels {
				sums[c] = columnSum(partials, p.Chunks, p.Channels, c)
				sums[p.Channels+c] = columnSum(partials[p.Chunks*p.Channels:], p.Chunks, p.Channels, c)
				dscale[c] += sums[c]
				dbias[c] += sums[p.Channels+c]
			}
		})

	batchNormBackwardX = wide(columnwise("batch_norm_backward_x", batchNormFile,
		[]gpu.Access{read, read, read, read, read, read, write}, batchNormStripes, batchNormQuads,
		func(p *batchNormParams, a []gpu.Array) {
			statistics, scale, sums, dx, n := a[1].F, a[2].F, a[5].F, a[6].F, float64(p.Rows)
			for i := range int(p.Rows * p.Channels) {
				c := i % int(p.Channels)
				xHat, g := p.passed(i, a[0].F, statistics, scale, a[3].F, a[4].F)
				if p.Training == 1 {
					g -= sums[int(p.Channels)+c]/n + xHat*sums[c]/n
				}
				dx[i] += scale[c] * statistics[int(p.Channels)+c] * g
			}
		}), 1, 5)
)

// BatchNorm normalises each channel of x (B, H, W, C), then applies scale and bias (C). In training the mean and variance are
// those of the batch, and the running ones move towards them by momentum (the variance unbiased), as PyTorch's do; in
// inference the running ones are used.
func BatchNorm(x, scale, bias, runningMean, runningVariance *Tensor, training bool, eps, momentum float32) *Tensor {
	return batchNorm("BatchNorm", x, scale, bias, runningMean, runningVariance, training, eps, momentum, 0)
}

// BatchNormReLU is ReLU of BatchNorm, in one pass.
func BatchNormReLU(x, scale, bias, runningMean, runningVariance *Tensor, training bool, eps, momentum float32) *Tensor {
	return batchNorm("BatchNormReLU", x, scale, bias, runningMean, runningVariance, training, eps, momentum, 1)
}

func batchNorm(name string, x, scale, bias, runningMean, runningVariance *Tensor, training bool, eps, momentum float32, relu uint32) *Tensor {
	channels := x.Dim(-1)
	for what, t := range map[string]*Tensor{"scale": scale, "bias": bias, "running mean": runningMean, "running variance": runningVariance} {
		requireShape(name, what, t, channels)
	}
	rows := x.Elements() / channels
	if training && rows < 2 {
		panic(fmt.Sprintf("%s: one value a channel has no variance: %v", name, x))
	}
	g := x.Graph()
	whole := batchNormParams{Rows: uint32(rows), Channels: uint32(channels), Relu: relu, Eps: eps, Momentum: momentum}
	if training {
		whole.Training = 1
	}
	sums, each := whole, whole // in many rows, in few rows an invocation
	sums.Chunks = uint32(reductionStripes(rows))
	each.Chunks = uint32(stripes(rows, channels))

	statistics := g.Once(func() *Tensor { // it moves the running ones
		statistics := g.NewOf(gpu.F32, "batch norm statistics", []int{2, channels})
		if training {
			moments := g.NewOf(gpu.F32, "batch norm moments", []int{2, int(sums.Chunks), channels})
			g.Dispatch(batchNormPartial, &sums, x, moments)
			g.Dispatch(batchNormStatistics, &sums, moments, statistics, runningMean, runningVariance)
		} else {
			g.Dispatch(batchNormRunning, &each, runningMean, statistics, runningVariance)
		}
		return statistics
	})
	y := g.New("batch norm", x.Shape(), x, scale, bias)
	if training {
		g.Dispatch(batchNormForward, &each, x, statistics, scale, bias, y)
	} else { // in two steps: the first depends on no image, and the second is a convolution's to take over
		scaleShift := g.NewOf(scale.Type(), "batch norm scale and shift", []int{2, channels})
		g.Dispatch(batchNormScaleShift, &each, scaleShift, statistics, scale, bias)
		g.Dispatch(scaleShiftForward, &each, x, scaleShift, y)
	}
	g.OnBackward(y, func() {
		partials := g.NewOf(gpu.F32, "batch norm sums", []int{2, int(sums.Chunks), channels})
		total := g.NewOf(gpu.F32, "batch norm totals", []int{2, channels})
		g.Dispatch(batchNormBackwardPartial, &sums, x, statistics, scale, bias, y.Gradient(), partials)
		g.Dispatch(batchNormBackwardSums, &sums, partials, total, gradientOrScratch(scale), gradientOrScratch(bias))
		if x.NeedsGradient() {
			g.Dispatch(batchNormBackwardX, &each, x, statistics, scale, bias, y.Gradient(), total, x.Gradient())
		}
	})
	return y
}
