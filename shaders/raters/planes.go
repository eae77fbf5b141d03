package raters

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/vector"
)

// planes hold the values of some pixels: value 0 of all pixels, value 1 of all pixels, and so on.
// Bodies in Go compute each plane in vectors. In tensors a pixel's values lie side by side.
type planes[F gpu.Float] struct {
	few  [8 * planePixels]F // two of these, and the values that they come from, fit the first cache
	many []F                // used instead of few, if one pixel has more values than few
}

// planePixels is the largest number of pixels in planes.
const planePixels = 256

// pixelsInPlanes is the number of pixels that planes of n values hold.
func pixelsInPlanes(n int) int { return min(planePixels, max(1, 8*planePixels/n)) }

func (p *planes[F]) memory() []F {
	if p.many != nil {
		return p.many
	}
	return p.few[:]
}

// plane is value i of all pixels.
func (p *planes[F]) plane(i, pixels int) []F { return p.memory()[i*pixels:][:pixels] }

// gather fills the planes from x, in which each pixel has n values.
func (p *planes[F]) gather(x []F, n int) {
	if n > len(p.few) && p.many == nil {
		p.many = make([]F, n)
	}
	vector.Transpose(p.memory(), len(x)/n, x, n, len(x)/n, n, false)
}

// addTo adds the planes to y, in which each pixel has n values.
func (p *planes[F]) addTo(y []F, n int) {
	vector.Transpose(y, n, p.memory(), len(y)/n, n, len(y)/n, true)
}
