// Package norm has batch and layer normalisation.
package norm

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed batch_norm.wgsl
var batchNormFile string

type BatchNormParams struct {
	Rows, Channels, Chunks, Relu, Training uint32
	Eps, Momentum                          float32
	Ranks                                  uint32 // over whose rows statistics are taken; 1: this one
	Sums                                   uint32 // 1: forward adds another tensor before the ReLU
}

func batchNormStripes(p *BatchNormParams) uint32  { return p.Chunks * p.Channels }
func batchNormChannels(p *BatchNormParams) uint32 { return p.Channels }
func batchNormChunks(p *BatchNormParams) uint32   { return p.Chunks }
func batchNormRows(p *BatchNormParams) uint32     { return p.Rows }
func batchNormQuads(p *BatchNormParams) bool      { return p.Channels%4 == 0 }

// batchNormKernel is a kernel of batch_norm.wgsl with an invocation for each of count(p) channels.
func batchNormKernel(name string, count func(p *BatchNormParams) uint32, arguments ...gpu.Access) *tensor.Kernel {
	return withSums(kernels.Columnwise(name, batchNormFile, arguments, count, batchNormQuads, nil))
}

// withSums declares whether forward kernels add another tensor to y, before the ReLU.
func withSums(k *tensor.Kernel) *tensor.Kernel {
	v := &k.Variants[0]
	widths := v.Header
	v.Header = func(params any) string {
		return widths(params) + fmt.Sprintf("const SUMS: bool = %t;\n", params.(*BatchNormParams).Sums == 1)
	}
	return k
}

var (
	batchNormPartial = kernels.Wide(kernels.InRows(batchNormChunks, batchNormPartialPart[float64], batchNormPartialPart[float32],
		batchNormKernel("batch_norm_partial", batchNormStripes, gpu.Read, gpu.ReadWrite)), 1)
	batchNormStatistics = kernels.InPieces(batchNormChannels, batchNormStatisticsPart[float64], batchNormStatisticsPart[float32],
		batchNormKernel("batch_norm_statistics", batchNormChannels, gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite))
	batchNormOwnPower = kernels.InPieces(batchNormChannels, batchNormOwnPowerPart[float64], batchNormOwnPowerPart[float32],
		batchNormKernel("batch_norm_own_power", batchNormChannels, gpu.Read, gpu.ReadWrite, gpu.Read))
	batchNormAllStatistics = kernels.InPieces(batchNormChannels, batchNormAllStatisticsPart[float64], batchNormAllStatisticsPart[float32],
		batchNormKernel("batch_norm_all_statistics", batchNormChannels, gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite))
	batchNormRunning = kernels.Wide(kernels.InPieces(batchNormChannels, batchNormRunningPart[float64], batchNormRunningPart[float32],
		batchNormKernel("batch_norm_running", batchNormChannels, gpu.Read, gpu.ReadWrite, gpu.Read)), 1)
	batchNormScaleShift = kernels.Wide(kernels.InPieces(batchNormChannels, batchNormScaleShiftPart[float64], batchNormScaleShiftPart[float32],
		batchNormKernel("batch_norm_scale_shift", batchNormChannels, gpu.ReadWrite, gpu.Read, gpu.Read, gpu.Read)), 1)
	scaleShiftForward = kernels.InRows(batchNormRows, scaleShiftPart[float64], scaleShiftPart[float32],
		batchNormKernel("scale_shift_forward", batchNormStripes, gpu.Read, gpu.Read, gpu.ReadWrite))
	// batchNormForward takes x, statistics, scale, bias, the summand (x if there is none) and y.
	batchNormForward = kernels.Wide(kernels.InRows(batchNormRows, batchNormForwardPart[float64], batchNormForwardPart[float32],
		batchNormKernel("batch_norm_forward", batchNormStripes, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite)), 1)
	batchNormWhole = kernels.Wide(batchNormSliced("batch_norm_whole", batchNormForwardWhole[float64], batchNormForwardWhole[float32],
		gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite), 1, 2, 3)
	batchNormBackwardPartial = kernels.Wide(kernels.InRows(batchNormChunks, batchNormBackwardPartialPart[float64], batchNormBackwardPartialPart[float32],
		batchNormKernel("batch_norm_backward_partial", batchNormStripes, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite)), 1, 5)
	batchNormBackwardSums = kernels.InPieces(batchNormChannels, batchNormBackwardSumsPart[float64], batchNormBackwardSumsPart[float32],
		batchNormKernel("batch_norm_backward_sums", batchNormChannels, gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite))
	batchNormBackward = kernels.Adding(kernels.Wide(batchNormSliced("batch_norm_backward_whole", batchNormBackwardWhole[float64], batchNormBackwardWhole[float32],
		gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite), 1, 5, 6))
	batchNormBackwardX = kernels.Adding(kernels.Wide(kernels.InRows(batchNormRows, batchNormBackwardXPart[float64], batchNormBackwardXPart[float32],
		batchNormKernel("batch_norm_backward_x", batchNormStripes, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite)), 1, 5))
)

// batchNormSlices is the number of chunks of rows of a sliced kernel. A workgroup has them all.
const batchNormSlices = 64

// batchNormSliced is a kernel in which a workgroup has four channels or quads, and all their rows.
func batchNormSliced(name string, exact func(p *BatchNormParams, a []gpu.Array, split gpu.Split), fast func(p *BatchNormParams, a []gpu.Array32, split gpu.Split), arguments ...gpu.Access) *tensor.Kernel {
	return withSums(&tensor.Kernel{
		Name: name, Arguments: arguments, Fast: tensor.Fast(fast),
		Body: tensor.Body(func(p *BatchNormParams, a []gpu.Array) {
			exact(p, a, func(n int, part func(from, to int)) { part(0, n) })
		}),
		Variants: []tensor.Variant{kernels.TwoWidths(batchNormFile, batchNormQuads, func(p *BatchNormParams, width int) [3]int {
			return [3]int{kernels.Ceil(int(p.Channels)/width, 4), 1, 1}
		})},
	})
}

// batchNormForwardWhole computes the statistics of x, by way of the moments of the chunks, and y.
func batchNormForwardWhole[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], split gpu.Split) {
	moments := gpu.ArrayOf[F]{F: make([]F, 2*p.Chunks*p.Channels)}
	x, statistics, runningMean, runningVariance, scale, bias, summand, y := a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
	split(int(p.Chunks), func(from, to int) { batchNormPartialPart(p, []gpu.ArrayOf[F]{x, moments}, from, to) })
	batchNormStatisticsPart(p, []gpu.ArrayOf[F]{moments, statistics, runningMean, runningVariance}, 0, int(p.Channels))
	split(int(p.Rows), func(from, to int) {
		batchNormForwardPart(p, []gpu.ArrayOf[F]{x, statistics, scale, bias, summand, y}, from, to)
	})
}

// batchNormBackwardWhole computes the gradients, by way of the sums of the chunks.
func batchNormBackwardWhole[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], split gpu.Split) {
	x, statistics, scale, bias, dy, dscale, dbias, dx := a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
	partials, totals := gpu.ArrayOf[F]{F: make([]F, 2*p.Chunks*p.Channels)}, gpu.ArrayOf[F]{F: make([]F, 2*p.Channels)}
	split(int(p.Chunks), func(from, to int) {
		batchNormBackwardPartialPart(p, []gpu.ArrayOf[F]{x, statistics, scale, bias, dy, partials}, from, to)
	})
	batchNormBackwardSumsPart(p, []gpu.ArrayOf[F]{partials, totals, dscale, dbias}, 0, int(p.Channels))
	split(int(p.Rows), func(from, to int) {
		batchNormBackwardXPart(p, []gpu.ArrayOf[F]{x, statistics, scale, bias, dy, totals, dx}, from, to)
	})
}

// batchNormPartialPart computes the moments of chunks [from, to). Rows of neighbouring chunks are
// neighbours, and are read in their order.
func batchNormPartialPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, step := int(p.Channels), int(p.Chunks*p.Channels)
	mean, squares := a[1].F[from*n:to*n], a[1].F[step+from*n:step+to*n]
	clear(mean)
	clear(squares)
	p.eachRun(from, to, func(first, end int) { vector.Add(mean[:end-first], a[0].F[first:end]) })
	for chunk := from; chunk < to; chunk++ {
		rows := F(p.rowsOf(chunk))
		for c := range n {
			mean[(chunk-from)*n+c] /= rows
		}
	}
	p.eachRun(from, to, func(first, end int) { vector.AddSquares(squares[:end-first], a[0].F[first:end], mean) })
}

// eachRun calls f for the runs of rows that belong to chunks [from, to), with a run's first element
// and its end. The first row of a run belongs to the first chunk, the second to the second, and so
// on.
func (p *BatchNormParams) eachRun(from, to int, f func(first, end int)) {
	n, rows := int(p.Channels), int(p.Rows)
	for row := from; row < rows; row += int(p.Chunks) {
		f(row*n, min(row+to-from, rows)*n)
	}
}

// rowsOf is the number of rows of a chunk.
func (p *BatchNormParams) rowsOf(chunk int) int {
	return (int(p.Rows) - chunk + int(p.Chunks) - 1) / int(p.Chunks)
}

// allChunks are the mean of channel c over all rows and Σ (x - mean)², from the moments of the
// chunks.
func allChunks[F gpu.Float](p *BatchNormParams, moments []F, c int) (mean, squares F) {
	channels, chunks := int(p.Channels), int(p.Chunks)
	for chunk := range chunks {
		mean += F(p.rowsOf(chunk)) / F(p.Rows) * moments[chunk*channels+c]
	}
	for chunk := range chunks {
		d := moments[chunk*channels+c] - mean
		squares += moments[(chunks+chunk)*channels+c] + F(p.rowsOf(chunk))*d*d
	}
	return mean, squares
}

func batchNormStatisticsPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	moments, saved, movingMean, movingVariance := a[0].F, a[1].F, a[2].F, a[3].F
	n, channels := F(p.Rows), int(p.Channels)
	for c := from; c < to; c++ {
		mean, squares := allChunks(p, moments, c)
		saved[c], saved[channels+c] = mean, inverseRoot(squares/n+F(p.Eps))
		movingMean[c] += F(p.Momentum) * (mean - movingMean[c])
		movingVariance[c] += F(p.Momentum) * (squares/(n-1) - movingVariance[c])
	}
}

// batchNormOwnPowerPart computes the means of d = x - running mean and of d² over the rows of a
// rank. The running mean is the same on all ranks and near the mean: little is lost when the
// variance is the difference of both.
func batchNormOwnPowerPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	moments, power, movingMean := a[0].F, a[1].F, a[2].F
	for c := from; c < to; c++ {
		mean, squares := allChunks(p, moments, c)
		d := mean - movingMean[c]
		power[c], power[int(p.Channels)+c] = d, squares/F(p.Rows)+d*d
	}
}

// batchNormAllStatisticsPart is batchNormStatisticsPart from the means of d and d² over all ranks.
func batchNormAllStatisticsPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	power, saved, movingMean, movingVariance := a[0].F, a[1].F, a[2].F, a[3].F
	n, channels := F(p.Rows*p.Ranks), int(p.Channels)
	for c := from; c < to; c++ {
		d := power[c]
		variance := max(0, power[channels+c]-d*d)
		saved[c], saved[channels+c] = movingMean[c]+d, inverseRoot(variance+F(p.Eps))
		movingMean[c] += F(p.Momentum) * d
		movingVariance[c] += F(p.Momentum) * (variance*n/(n-1) - movingVariance[c])
	}
}

func inverseRoot[F gpu.Float](x F) F { return 1 / F(math.Sqrt(float64(x))) }

func batchNormRunningPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	mean, statistics, variance := a[0].F, a[1].F, a[2].F
	for c := from; c < to; c++ {
		statistics[c], statistics[int(p.Channels)+c] = mean[c], inverseRoot(variance[c]+F(p.Eps))
	}
}

func batchNormScaleShiftPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	out, statistics, n := a[0].F, a[1].F, int(p.Channels)
	for c := from; c < to; c++ {
		out[c] = statistics[n+c] * a[2].F[c]
		out[n+c] = a[3].F[c] - F(statistics[c]*out[c]) // two roundings, on arm64 too
	}
}

func scaleShiftPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, relu := int(p.Channels), p.Relu == 1
	scale, shift := a[1].F[:n], a[1].F[n:][:n]
	for row := from; row < to; row++ {
		y := a[2].F[row*n:][:n]
		for c, v := range a[0].F[row*n:][:n] {
			y[c] = rectified(relu, F(v*scale[c])+shift[c])
		}
	}
}

// rectified is max(v, 0) if relu is true, and otherwise v.
func rectified[F gpu.Float](relu bool, v F) F {
	if relu {
		return max(v, 0)
	}
	return v
}

// normalisationOf takes the statistics, scale and bias from arguments 1 to 3.
func normalisationOf[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F]) vector.Normalisation[F] {
	n := int(p.Channels)
	return vector.Normalisation[F]{Mean: a[1].F[:n], R: a[1].F[n:][:n], Scale: a[2].F[:n], Bias: a[3].F[:n], ReLU: p.Relu == 1}
}

func batchNormForwardPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, of := int(p.Channels), normalisationOf(p, a)
	x, y := a[0].F[from*n:to*n], a[5].F[from*n:to*n]
	if p.Sums == 0 {
		of.Rows(y, x)
		return
	}
	of.ReLU = false
	of.Rows(y, x)
	vector.Add(y, a[4].F[from*n:to*n])
	if p.Relu == 0 {
		return
	}
	if single := vector.Singles(y); single != nil {
		vector.ReLU(single)
		return
	}
	for i, v := range y {
		y[i] = max(v, 0)
	}
}

func batchNormBackwardPartialPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, step, of := int(p.Channels), int(p.Chunks*p.Channels), normalisationOf(p, a)
	products, sums := a[5].F[from*n:to*n], a[5].F[step+from*n:step+to*n]
	clear(products)
	clear(sums)
	p.eachRun(from, to, func(first, end int) {
		n := end - first
		of.AddGradients(products[:n], sums[:n], a[0].F[first:end], a[4].F[first:end])
	})
}

func batchNormBackwardSumsPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, step := int(p.Channels), int(p.Chunks*p.Channels)
	for half, gradient := range [][]F{a[2].F, a[3].F} {
		sums := a[1].F[half*n+from : half*n+to]
		clear(sums)
		pointwise.AddColumns(sums, a[0].F[half*step:][:step], n, from, to)
		for i, s := range sums {
			gradient[from+i] += s
		}
	}
}

func batchNormBackwardXPart[F gpu.Float](p *BatchNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, of, share := int(p.Channels), normalisationOf(p, a), 1/F(p.Rows)
	if p.Training == 0 {
		share = 0
	}
	products, sums := a[5].F[:n], a[5].F[n:][:n]
	of.AddGradientByX(a[6].F[from*n:to*n], a[0].F[from*n:to*n], a[4].F[from*n:to*n], products, sums, share)
}

// BatchStatisticsKind computes the mean and the inverse deviation of each channel of x, (2, C), and
// moves the running statistics.
var BatchStatisticsKind = &tensor.Kind{Name: "BatchStatistics", Halves: tensor.HalvesFollow, Once: true, Compute: func(op *tensor.Op) {
	p := op.Attributes.(BatchNormParams)
	if p.Chunks = uint32(pointwise.ReductionStripes(int(p.Rows))); p.Whole() {
		p = *p.inSlices() // the same sums, to the bit
	}
	moments := op.Graph().NewOf(gpu.F32, "batch norm moments", []int{2, int(p.Chunks), int(p.Channels)})
	op.Dispatch(batchNormPartial, &p, op.Inputs[0], moments)
	if p.Ranks == 1 {
		op.Dispatch(batchNormStatistics, &p, moments, op.Outputs[0], op.Outputs[1], op.Outputs[2])
		return
	}
	power := op.Graph().NewOf(gpu.F32, "batch norm power", []int{2, int(p.Channels)})
	op.Dispatch(batchNormOwnPower, &p, moments, power, op.Outputs[1])
	op.Graph().Meet(power, op.Graph().Group())
	op.Dispatch(batchNormAllStatistics, &p, power, op.Outputs[0], op.Outputs[1], op.Outputs[2])
}}

// runningStatisticsKind computes the same (2, C) from running means and variances.
var runningStatisticsKind = &tensor.Kind{Name: "RunningStatistics", Compute: func(op *tensor.Op) {
	p := op.Attributes.(BatchNormParams)
	op.Dispatch(batchNormRunning, p.inStripes(), op.Inputs[0], op.Outputs[0], op.Inputs[1])
}}

// Whole says whether one dispatch, whose workgroups have all rows, computes statistics and results.
func (p BatchNormParams) Whole() bool {
	return p.Training == 1 && p.Ranks == 1 && p.Rows <= pointwise.ManyRows
}

// inSlices are the parameters for sliced kernels.
func (p BatchNormParams) inSlices() *BatchNormParams {
	p.Chunks = min(p.Rows, batchNormSlices)
	return &p
}

// In training, BatchNormSumKind is BatchNormKind, then the sum with its fifth input, then ReLU if
// Relu is 1. WholeBatchNormKind is BatchStatisticsKind and either of them, if Whole: it takes x,
// scale, bias and what is added, if anything, and makes y, the statistics, and the running ones.
var (
	BatchNormSumKind = &tensor.Kind{Name: "BatchNormSum", Halves: tensor.HalvesFollow, Compute: func(op *tensor.Op) {
		p := op.Attributes.(BatchNormParams)
		p.Sums = 1
		op.Dispatch(batchNormForward, p.inStripes(), append(op.Inputs[:5:5], op.Output())...)
	}}
	WholeBatchNormKind = &tensor.Kind{Name: "WholeBatchNorm", Halves: tensor.HalvesFollow, Once: true, Compute: func(op *tensor.Op) {
		p, x, summand := op.Attributes.(BatchNormParams), op.Inputs[0], op.Inputs[0]
		if len(op.Inputs) > 3 {
			p.Sums, summand = 1, op.Inputs[3]
		}
		op.Dispatch(batchNormWhole, p.inSlices(), x, op.Outputs[1], op.Outputs[2], op.Outputs[3], op.Inputs[1], op.Inputs[2], summand, op.Outputs[0])
	}}
)

// BatchNormKind takes x, statistics, scale and bias.
var BatchNormKind = &tensor.Kind{Name: "BatchNorm", Halves: tensor.HalvesFollow, Compute: batchNormCompute, Gradient: batchNormGradient}

func batchNormCompute(op *tensor.Op) {
	p := op.Attributes.(BatchNormParams)
	x, statistics, scale, bias, y := op.Inputs[0], op.Inputs[1], op.Inputs[2], op.Inputs[3], op.Output()
	if p.Training == 1 {
		op.Dispatch(batchNormForward, p.inStripes(), x, statistics, scale, bias, x, y)
		return
	}
	scaleShift := op.Graph().NewOf(scale.Type(), "batch norm scale and shift", []int{2, int(p.Channels)})
	op.Dispatch(batchNormScaleShift, p.inStripes(), scaleShift, statistics, scale, bias)
	op.Dispatch(scaleShiftForward, p.inStripes(), x, scaleShift, y)
}

func batchNormGradient(op *tensor.Op) {
	p, g := op.Attributes.(BatchNormParams), op.Graph()
	x, statistics, scale, bias, dy := op.Inputs[0], op.Inputs[1], op.Inputs[2], op.Inputs[3], op.Output().Gradient()
	if p.Whole() && x.NeedsGradient() {
		op.Dispatch(batchNormBackward, p.inSlices(), x, statistics, scale, bias, dy, gradientOrScratch(scale), gradientOrScratch(bias), x.Gradient())
		return
	}
	sums, total := p, g.NewOf(gpu.F32, "batch norm totals", []int{2, int(p.Channels)})
	sums.Chunks = uint32(pointwise.ReductionStripes(int(p.Rows)))
	partials := g.NewOf(gpu.F32, "batch norm sums", []int{2, int(sums.Chunks), int(p.Channels)})
	op.Dispatch(batchNormBackwardPartial, &sums, x, statistics, scale, bias, dy, partials)
	op.Dispatch(batchNormBackwardSums, &sums, partials, total, gradientOrScratch(scale), gradientOrScratch(bias))
	if x.NeedsGradient() {
		if p.Ranks > 1 {
			g.Meet(total, g.Group()) // a mean of sums: each rank then divides by its own rows
		}
		op.Dispatch(batchNormBackwardX, p.inStripes(), x, statistics, scale, bias, dy, total, x.Gradient())
	}
}

// inStripes are the parameters for kernels in which an invocation has few rows.
func (p BatchNormParams) inStripes() *BatchNormParams {
	p.Chunks = uint32(pointwise.Stripes(int(p.Rows), int(p.Channels)))
	return &p
}

// At inference, batch normalisation is one scale and one shift for each channel. ScaleAndShiftKind
// computes these (2, C) from statistics, scale and bias. ScaleShiftKind applies them to x.
var (
	ScaleAndShiftKind = &tensor.Kind{Name: "ScaleAndShift", Compute: func(op *tensor.Op) {
		p := op.Attributes.(BatchNormParams)
		op.Dispatch(batchNormScaleShift, p.inStripes(), op.Output(), op.Inputs[0], op.Inputs[1], op.Inputs[2])
	}}
	ScaleShiftKind = &tensor.Kind{Name: "ScaleShift", Compute: func(op *tensor.Op) {
		p := op.Attributes.(BatchNormParams)
		op.Dispatch(scaleShiftForward, p.inStripes(), op.Inputs[0], op.Inputs[1], op.Output())
	}}
)

// BatchNorm normalises each channel of x (B, H, W, C), then applies scale and bias (C). In training
// it uses the mean and variance of the batch, and moves the running ones towards them by momentum
// (the variance unbiased), as PyTorch does. If the graph has a group, it does what PyTorch's
// SyncBatchNorm does. In inference it uses the running ones. It panics if a channel has a single
// value in training.
func BatchNorm(x, scale, bias, runningMean, runningVariance *tensor.Tensor, training bool, eps, momentum float32) *tensor.Tensor {
	channels := x.Dim(-1)
	for what, t := range map[string]*tensor.Tensor{"scale": scale, "bias": bias, "running mean": runningMean, "running variance": runningVariance} {
		kernels.RequireShape("BatchNorm", what, t, channels)
	}
	g, rows := x.Graph(), x.Elements()/channels
	p := BatchNormParams{Rows: uint32(rows), Channels: uint32(channels), Eps: eps, Momentum: momentum, Ranks: 1}
	if group := g.Group(); group != nil && training {
		p.Ranks = uint32(group.Size())
	}
	statistics := g.NewOf(gpu.F32, "batch norm statistics", []int{2, channels})
	if training {
		if rows < 2 {
			panic(fmt.Sprintf("BatchNorm: one value a channel has no variance: %v", x))
		}
		p.Training = 1
		g.Append(BatchStatisticsKind, p, []*tensor.Tensor{statistics, runningMean, runningVariance}, x)
	} else {
		g.Append(runningStatisticsKind, p, []*tensor.Tensor{statistics}, runningMean, runningVariance)
	}
	return g.Apply(BatchNormKind, p, x.Shape(), x, statistics, scale, bias)
}
