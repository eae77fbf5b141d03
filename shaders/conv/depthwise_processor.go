package conv

import (
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
)

// eachTap calls f for a position's taps inside the image, with the pixel of x and the tap of w.
func (p *Params) eachTap(position int, f func(x, w int)) {
	b, u, v := p.place(position)
	r, c := &p.Rows, &p.Cols
	for t := range r.Taps {
		row := u*r.XStep + r.XStart + t*r.XTap
		if row < 0 || row >= r.XSize {
			continue
		}
		for s := range c.Taps {
			if col := v*c.XStep + c.XStart + s*c.XTap; col >= 0 && col < c.XSize {
				f(int((b*r.XSize+row)*c.XSize+col), p.weightAt(int(t*c.Taps+s)))
			}
		}
	}
}

func depthwiseForwardFast(p *Params, a []gpu.Array32, split gpu.Split) {
	n := int(p.Inputs)
	split(p.pixels(), func(from, to int) {
		for position := from; position < to; position++ {
			y := a[3].F[p.destination(position)*n:][:n]
			if p.Adds != addToY {
				clear(y)
			}
			if p.HasBias == 1 {
				vector.Add(y, a[2].F[:n])
			}
			p.eachTap(position, func(x, w int) { vector.AddProducts(y, a[0].F[x*n:][:n], a[1].F[w*n:][:n]) })
		}
	})
}

// depthwiseBackwardWeightFast sums the positions of a part, for all taps.
func depthwiseBackwardWeightFast(p *Params, a []gpu.Array32, split gpu.Split) {
	n, positions := int(p.Inputs), p.pixels()
	split(int(p.Parts), func(from, to int) {
		for part := from; part < to; part++ {
			dw := a[2].F[part*p.taps()*n:][:p.taps()*n]
			if p.Adds == 0 {
				clear(dw)
			}
			for position := part * int(p.Chunk); position < min((part+1)*int(p.Chunk), positions); position++ {
				dy := a[1].F[p.destination(position)*n:][:n]
				p.eachTap(position, func(x, w int) { vector.AddProducts(dw[w*n:][:n], a[0].F[x*n:][:n], dy) })
			}
		}
	})
}
