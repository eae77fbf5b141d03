package loss

import (
	_ "embed"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

//go:embed dice.wgsl
var diceSource string

type diceParams struct{ Maps, Pixels, Classes, Chunks uint32 }

func diceChunks(p *diceParams) uint32   { return p.Chunks }
func diceStripes(p *diceParams) uint32  { return p.Chunks * p.Maps }
func diceMaps(p *diceParams) uint32     { return p.Maps }
func diceElements(p *diceParams) uint32 { return p.Maps * p.Pixels }

// diceOf is the loss from a map's two sums.
func diceOf[F gpu.Float](sums []F) F { return sums[0] / (sums[1] + 1) }

var (
	dicePartial = kernels.InRows(diceChunks, dicePartialPart[float64], dicePartialPart[float32],
		kernels.PerElement("dice_partial", diceSource, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}, diceStripes, nil))
	diceForward = kernels.InPieces(diceMaps, diceForwardPart[float64], diceForwardPart[float32],
		kernels.PerElement("dice_forward", diceSource, []gpu.Access{gpu.Read, gpu.ReadWrite}, diceMaps, nil))
	diceBackward = kernels.Adding(kernels.InPieces(diceElements, diceBackwardPart[float64], diceBackwardPart[float32],
		kernels.PerElement("dice_backward", diceSource, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite}, diceElements, nil)))
)

// dicePartialPart computes the partial sums of chunks [from, to) of each map's pixels.
func dicePartialPart[F gpu.Float](p *diceParams, a []gpu.ArrayOf[F], from, to int) {
	pixels, classes, chunks := int(p.Pixels), int(p.Classes), int(p.Chunks)
	for chunk := from; chunk < to; chunk++ {
		for m := range int(p.Maps) {
			sums := a[2].F[2*(chunk*int(p.Maps)+m):][:2]
			clear(sums)
			first := m/classes*pixels*classes + m%classes
			for pixel := chunk; pixel < pixels; pixel += chunks {
				x, t := a[0].F[first+pixel*classes], a[1].F[first+pixel*classes]
				sums[0] += F(math.Abs(float64(x - t)))
				sums[1] += x + t
			}
		}
	}
}

func diceForwardPart[F gpu.Float](_ *diceParams, a []gpu.ArrayOf[F], from, to int) {
	for i := from; i < to; i++ {
		a[1].F[i] = diceOf(a[0].F[2*i:])
	}
}

func diceBackwardPart[F gpu.Float](p *diceParams, a []gpu.ArrayOf[F], from, to int) {
	image, classes := int(p.Pixels*p.Classes), int(p.Classes)
	for i := from; i < to; i++ {
		m := i/image*classes + i%classes
		var sign F
		if d := a[0].F[i] - a[1].F[i]; d != 0 {
			sign = F(math.Copysign(1, float64(d)))
		}
		sums := a[2].F[2*m:][:2]
		a[4].F[i] += a[3].F[m] * (sign - diceOf(sums)) / (sums[1] + 1)
	}
}

var diceKind = &tensor.Kind{Name: "DiceLoss", Passes: 1, Compute: func(op *tensor.Op) {
	p, sums := op.Attributes.(*diceParams), op.Outputs[1]
	partials := op.Graph().New("dice partials", []int{int(p.Chunks), int(p.Maps), 2})
	op.Dispatch(dicePartial, p, op.Inputs[0], op.Inputs[1], partials)
	op.Dispatch(pointwise.ReduceRowsWrite, &pointwise.ReduceParams{Rows: p.Chunks, Columns: 2 * p.Maps, Chunks: p.Chunks}, partials, sums)
	op.Dispatch(diceForward, p, sums, op.Output())
}, Gradient: func(op *tensor.Op) {
	p, t := op.Inputs[0], op.Inputs[1]
	op.Dispatch(diceBackward, op.Attributes, p, t, op.Outputs[1], op.Output().Gradient(), p.Gradient())
}}

// Dice is Σ|p − t| / (1 + Σ(p + t)) of each image and class, (B, K), for probabilities p and soft
// targets t (B, H, W, K): nearly 1 − the Dice score if p and t are 0 or 1, and 0 for p = t whatever
// t is (Wang et al., Dice semimetric losses, MICCAI 2023). The 1, one pixel, allows for empty
// masks. No gradient by t.
func Dice(p, t *tensor.Tensor) *tensor.Tensor {
	kernels.SameShape("dice_loss", p, t)
	kernels.RequireShape("dice_loss", "map", p, -1, -1, -1, -1)
	g, b, pixels, k := p.Graph(), p.Dim(0), p.Dim(1)*p.Dim(2), p.Dim(3)
	params := &diceParams{uint32(b * k), uint32(pixels), uint32(k), uint32(pointwise.ReductionStripes(pixels))}
	l, sums := g.New("dice_loss", []int{b, k}, p), g.New("dice sums", []int{b, k, 2})
	g.Append(diceKind, params, []*tensor.Tensor{l, sums}, p, t)
	return l
}
