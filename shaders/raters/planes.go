package raters

import (
	"mrprism/internal/compute/gpu"
	"mrprism/shaders/kernels"
)

// planes hold what some pixels have, one value of all pixels after the other: what bodies in Go
// compute in vectors, where tensors have the values of a pixel side by side.
type planes[F gpu.Float] struct {
	few  [8 * planePixels]F // in the first cache, two of them and what is gathered
	many []F                // in place of few, where that does not have the values of one pixel
}

// planePixels are as many as planes hold at most.
const planePixels = 256

// pixelsInPlanes are as many as planes of n values hold.
func pixelsInPlanes(n int) int { return min(planePixels, max(1, 8*planePixels/n)) }

func (p *planes[F]) all() []F {
	if p.many != nil {
		return p.many
	}
	return p.few[:]
}

// of is value i of all pixels.
func (p *planes[F]) of(i, pixels int) []F { return p.all()[i*pixels:][:pixels] }

// gather takes x, in which each pixel has n values.
func (p *planes[F]) gather(x []F, n int) {
	if n > len(p.few) && p.many == nil {
		p.many = make([]F, n)
	}
	kernels.TransposeInto(p.all(), len(x)/n, x, n, len(x)/n, n, false)
}

// AddTo adds what the planes hold to y, in which each pixel has n values.
func (p *planes[F]) addTo(y []F, n int) {
	kernels.TransposeInto(y, n, p.all(), len(y)/n, n, len(y)/n, true)
}
