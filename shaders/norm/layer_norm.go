package norm

import (
	_ "embed"
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed layer_norm.wgsl
var layerNormSource string

type LayerNormParams struct {
	Rows, Channels, Chunks uint32
	Eps                    float32
	Span                   uint32 // rows whose statistics lie side by side: those of a pass
}

func layerNormRows(p *LayerNormParams) uint32           { return p.Rows }
func layerNormEach(p *LayerNormParams, _ int) int       { return int(p.Rows) }
func layerNormPlaces(p *LayerNormParams, width int) int { return int(p.Chunks*p.Channels) / width }
func layerNormChunks(p *LayerNormParams) uint32         { return p.Chunks }
func layerNormChannels(p *LayerNormParams) uint32       { return p.Channels }
func layerNormQuads(p *LayerNormParams) bool            { return p.Channels%4 == 0 }

var (
	LayerNormForward = kernels.Wide(kernels.InRows(layerNormRows, layerNormForwardPart[float64], layerNormForwardPart[float32],
		layerNormInPlaces("layer_norm_forward", layerNormEach, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite)), 4)
	layerNormBackwardX = kernels.Adding(kernels.Wide(kernels.InRows(layerNormRows, layerNormBackwardXPart[float64], layerNormBackwardXPart[float32],
		layerNormInPlaces("layer_norm_backward_x", layerNormEach, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite)), 2))
	layerNormBackward = kernels.Adding(kernels.Wide(&tensor.Kernel{
		Name: "layer_norm_backward", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite, gpu.ReadWrite, gpu.ReadWrite},
		Body: tensor.Body(func(p *LayerNormParams, a []gpu.Array) {
			layerNormBackwardAll(p, a, func(n int, part func(from, to int)) { part(0, n) })
		}),
		Fast: tensor.Fast(layerNormBackwardAll[float32]),
		Variants: []tensor.Variant{kernels.TwoWidths(layerNormSource, layerNormQuads, func(p *LayerNormParams, width int) [3]int {
			return [3]int{kernels.Ceil(int(p.Channels)/width, 8) + kernels.Ceil(int(p.Rows), 64), 1, 1}
		})},
	}, 2, 4, 5))
	layerNormBackwardPartial = kernels.Wide(kernels.InRows(layerNormChunks, layerNormBackwardPartialPart[float64], layerNormBackwardPartialPart[float32],
		layerNormInPlaces("layer_norm_backward_partial", layerNormPlaces, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite)), 2, 3)
	layerNormBackwardParameters = kernels.InPieces(layerNormChannels, layerNormParametersPart[float64], layerNormParametersPart[float32],
		kernels.WithHeader(kernels.InOneWidth(1), "layer_norm_backward_parameters", layerNormSource, []gpu.Access{gpu.Read, gpu.ReadWrite, gpu.ReadWrite}, layerNormChannels, nil))
)

// rowStatistics are μ and r of a row.
func rowStatistics[F gpu.Float](p *LayerNormParams, saved []F, row int) (mean, r F) {
	at := row + row/int(p.Span)*int(p.Span)
	return saved[at], saved[at+int(p.Span)]
}

// layerNormInPlaces is a kernel with an invocation for each of count(p, width) results. An
// invocation takes channels in quads if a row consists of whole quads.
func layerNormInPlaces(name string, count func(p *LayerNormParams, width int) int, arguments ...gpu.Access) *tensor.Kernel {
	return &tensor.Kernel{Name: name, Arguments: arguments, Variants: []tensor.Variant{kernels.TwoWidths(layerNormSource, layerNormQuads,
		func(p *LayerNormParams, width int) [3]int { return tensor.Linear(count(p, width), kernels.Workgroup) })}}
}

func layerNormForwardPart[F gpu.Float](p *LayerNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, rows := int(p.Channels), int(p.Rows)
	vector.LayerNorm(a[3].F[from*n:to*n], a[0].F[from*n:to*n], a[1].F[:n], a[2].F[:n], F(p.Eps), a[4].F[from:to], a[4].F[rows+from:rows+to])
}

func layerNormBackwardXPart[F gpu.Float](p *LayerNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, saved, scale := int(p.Channels), a[2].F, a[3].F[:p.Channels]
	for row := from; row < to; row++ {
		x, dy, dx := a[0].F[row*n:][:n], a[1].F[row*n:][:n], a[4].F[row*n:][:n]
		mean, r := rowStatistics(p, saved, row)
		vector.AddLayerNormGradientByX(dx, dy, x, scale, mean, r)
	}
}

// layerNormBackwardPartialPart sums chunks [from, to) of the rows. It reads rows in their order.
func layerNormBackwardPartialPart[F gpu.Float](p *LayerNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, rows, chunks := int(p.Channels), int(p.Rows), int(p.Chunks)
	clear(a[3].F[from*n : to*n])
	clear(a[3].F[(chunks+from)*n : (chunks+to)*n])
	for first := 0; first < rows; first += chunks {
		for chunk := from; chunk < min(to, rows-first); chunk++ {
			addLayerNormRow(p, a, first+chunk, 0, a[3].F[chunk*n:][:n], a[3].F[(chunks+chunk)*n:][:n])
		}
	}
}

// layerNormBackwardAll adds all gradients.
func layerNormBackwardAll[F gpu.Float](p *LayerNormParams, a []gpu.ArrayOf[F], split gpu.Split) {
	split(int(p.Channels), func(from, to int) {
		for row := range int(p.Rows) {
			addLayerNormRow(p, a, row, from, a[4].F[from:to], a[5].F[from:to])
		}
	})
	split(int(p.Rows), func(from, to int) { layerNormBackwardXPart(p, append(a[:4:4], a[6]), from, to) })
}

// addLayerNormRow adds dy x̂ and dy of a row, in channels from first on, to products and sums.
func addLayerNormRow[F gpu.Float](p *LayerNormParams, a []gpu.ArrayOf[F], row, first int, products, sums []F) {
	x, dy := a[0].F[row*int(p.Channels)+first:][:len(sums)], a[1].F[row*int(p.Channels)+first:][:len(sums)]
	mean, r := rowStatistics(p, a[2].F, row)
	vector.AddLayerNormGradients(products, sums, dy, x, mean, r)
}

func layerNormParametersPart[F gpu.Float](p *LayerNormParams, a []gpu.ArrayOf[F], from, to int) {
	n, step := int(p.Channels), int(p.Chunks*p.Channels)
	pointwise.AddColumns(a[1].F[from:to], a[0].F[:step], n, from, to)
	pointwise.AddColumns(a[2].F[from:to], a[0].F[step:][:step], n, from, to)
}

// LayerNormKind takes x, scale and bias. Its results are y and (2, rows) the rows' μ and r.
var LayerNormKind = kernels.Operator(tensor.Kind{
	Name: "LayerNorm", Halves: tensor.HalvesFollow, Images: 1, Repeat: kernels.Repeat(func(p *LayerNormParams, n uint32) {
		p.Rows *= n
		p.Chunks = uint32(pointwise.ReductionStripes(int(p.Rows)))
	}),
}, LayerNormForward, func(op *tensor.Op) {
	p, dy, saved := op.Attributes.(*LayerNormParams), op.Output().Gradient(), op.Outputs[1]
	x, scale, bias := op.Inputs[0], op.Inputs[1], op.Inputs[2]
	learns := scale.NeedsGradient() || bias.NeedsGradient()
	if learns && x.NeedsGradient() && p.Rows <= pointwise.ManyRows {
		op.Dispatch(layerNormBackward, p, x, dy, saved, scale, gradientOrScratch(scale), gradientOrScratch(bias), x.Gradient())
		return
	}
	if x.NeedsGradient() {
		op.Dispatch(layerNormBackwardX, p, x, dy, saved, scale, x.Gradient())
	}
	if learns {
		partials := op.Graph().NewOf(gpu.F32, "layer norm sums", []int{2, int(p.Chunks), int(p.Channels)})
		op.Dispatch(layerNormBackwardPartial, p, x, dy, saved, partials)
		op.Dispatch(layerNormBackwardParameters, p, partials, gradientOrScratch(scale), gradientOrScratch(bias))
	}
})

// LayerNorm normalises x (…, C) over its last extent to mean 0 and variance 1, then applies scale
// and bias (C).
func LayerNorm(x, scale, bias *tensor.Tensor, eps float32) *tensor.Tensor {
	channels := x.Dim(-1)
	kernels.RequireShape("LayerNorm", "scale", scale, channels)
	kernels.RequireShape("LayerNorm", "bias", bias, channels)
	g, rows := x.Graph(), x.Elements()/channels
	p := &LayerNormParams{uint32(rows), uint32(channels), uint32(pointwise.ReductionStripes(rows)), eps, uint32(rows)}
	y, saved := g.New("layer norm", x.Shape(), x, scale, bias), g.NewOf(gpu.F32, "layer norm statistics", []int{2, rows})
	g.Append(LayerNormKind, p, []*tensor.Tensor{y, saved}, x, scale, bias)
	return y
}

// gradientOrScratch is the gradient of t, for a kernel that computes several gradients. If t needs
// no gradient, it is memory that nobody reads.
func gradientOrScratch(t *tensor.Tensor) *tensor.Tensor {
	if t.NeedsGradient() {
		return t.Gradient()
	}
	return t.Graph().NewOf(gpu.F32, "unused gradient", t.Shape())
}
