package shaders

import (
	_ "embed"
	"math"

	"mrprism/internal/gpu"
)

//go:embed dice.wgsl
var diceSource string

type diceParams struct{ Maps, Pixels, Classes, Chunks uint32 }

// mapOf is to which map element i of p belongs.
func (p *diceParams) mapOf(i uint32) uint32 {
	return i/(p.Pixels*p.Classes)*p.Classes + i%p.Classes
}

func (p *diceParams) elements() uint32 { return p.Maps * p.Pixels }

// diceOf is the loss from a map's two sums.
func diceOf(sums []float64) float64 { return sums[0] / (sums[1] + 1) }

var (
	dicePartial = perElement("dice_partial", diceSource, []gpu.Access{read, read, write}, func(p *diceParams) uint32 { return p.Chunks * p.Maps },
		func(p *diceParams, a []gpu.Array) {
			clear(a[2].F[:2*p.Chunks*p.Maps])
			for i := range p.elements() {
				chunk := i / p.Classes % p.Pixels % p.Chunks
				sums := a[2].F[2*(chunk*p.Maps+p.mapOf(i)):]
				sums[0] += math.Abs(a[0].F[i] - a[1].F[i])
				sums[1] += a[0].F[i] + a[1].F[i]
			}
		})
	diceForward = perElement("dice_forward", diceSource, []gpu.Access{read, write}, func(p *diceParams) uint32 { return p.Maps },
		func(p *diceParams, a []gpu.Array) {
			for i := range p.Maps {
				a[1].F[i] = diceOf(a[0].F[2*i:])
			}
		})
	diceBackward = perElement("dice_backward", diceSource, []gpu.Access{read, read, read, read, write}, (*diceParams).elements,
		func(p *diceParams, a []gpu.Array) {
			for i := range p.elements() {
				sums, sign := a[2].F[2*p.mapOf(i):], 0.0
				if d := a[0].F[i] - a[1].F[i]; d != 0 {
					sign = math.Copysign(1, d)
				}
				a[4].F[i] += a[3].F[p.mapOf(i)] * (sign - diceOf(sums)) / (sums[1] + 1)
			}
		})
)

// DiceLoss is Σ|p − t| / (1 + Σ(p + t)) of each image and class, (B, K), for probabilities p and soft targets t (B, H, W, K): one less the
// Dice score where both are 0 or 1, and 0 for p = t whatever t is (Wang et al., Dice semimetric losses, MICCAI 2023); the 1 is a pixel, for masks
// that are empty. No gradient by t.
func DiceLoss(p, t *Tensor) *Tensor {
	sameShape("dice_loss", p, t)
	requireShape("dice_loss", "map", p, -1, -1, -1, -1)
	g, b, pixels, k := p.Graph(), p.Dim(0), p.Dim(1)*p.Dim(2), p.Dim(3)
	params := &diceParams{uint32(b * k), uint32(pixels), uint32(k), uint32(reductionStripes(pixels))}
	partials := g.New("dice partials", []int{int(params.Chunks), b * k, 2})
	g.Dispatch(dicePartial, params, p, t, partials)
	sums := g.New("dice sums", []int{b, k, 2})
	g.Dispatch(reduceRowsWrite, &reduceParams{params.Chunks, uint32(2 * b * k), params.Chunks}, partials, sums)
	l := g.New("dice_loss", []int{b, k}, p)
	g.Dispatch(diceForward, params, sums, l)
	g.OnBackward(l, func() { g.Dispatch(diceBackward, params, p, t, sums, l.Gradient(), p.Gradient()) })
	return l
}
