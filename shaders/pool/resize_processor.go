package pool

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// resizeForwardFast mixes two rows of inputs, and then neighbours in the mixed row.
func resizeForwardFast(p *resizeParams, a []gpu.Array32, split gpu.Split) {
	row, outRow := int(p.Width*p.Channels), int(p.OutWidth*p.Channels)
	split(int(p.Rows), func(from, to int) {
		r := kernels.TakeRoom()
		defer r.Leave()
		places := p.places()
		mixed := kernels.RoomFor(&r.Rows, row)
		for at := from; at < to; at++ {
			y0, y1, f := bilinear(at%int(p.OutHeight), int(p.Height), int(p.OutHeight))
			image := a[0].F[at/int(p.OutHeight)*int(p.Height)*row:]
			if y0 == y1 {
				copy(mixed, image[y0*row:])
			} else {
				vector.Filter(mixed, image[y0*row:], row, []float32{float32(1 - f), float32(f)})
			}
			p.along(a[1].F[at*outRow:][:outRow], mixed, places)
		}
	})
}

// place is where a column of the outputs finds its two pixels in a row.
type place struct {
	left, right int
	share       float32 // of the right one
}

// places are those of all columns.
func (p *resizeParams) places() []place {
	places, n := make([]place, p.OutWidth), int(p.Channels)
	for ox := range places {
		x0, x1, f := bilinear(ox, int(p.Width), int(p.OutWidth))
		places[ox] = place{x0 * n, x1 * n, float32(f)}
	}
	return places
}

// along mixes neighbours of the row x.
func (p *resizeParams) along(y, x []float32, places []place) {
	n := int(p.Channels)
	for i, at := range places {
		to, left, right := y[i*n:][:n], x[at.left:][:n], x[at.right:][:n]
		for c, v := range left {
			to[c] = v + at.share*(right[c]-v)
		}
	}
}

// resizeBackwardFast gathers for each row of inputs from the rows of outputs, and then along it.
func resizeBackwardFast(p *resizeParams, a []gpu.Array32, split gpu.Split) {
	row, outRow := int(p.Width*p.Channels), int(p.OutWidth*p.Channels)
	split(int(p.Rows), func(from, to int) {
		r := kernels.TakeRoom()
		defer r.Leave()
		sum := kernels.RoomFor(&r.Rows, outRow)
		for at := from; at < to; at++ {
			image := a[0].F[at/int(p.Height)*int(p.OutHeight)*outRow:]
			p.gatherRows(sum, image, at%int(p.Height))
			p.addAlong(a[1].F[at*row:][:row], sum)
		}
	})
}

// gatherRows makes sum the rows of dy, each times the weight of the input's row iy in it.
func (p *resizeParams) gatherRows(sum, dy []float32, iy int) {
	clear(sum)
	height, outHeight := int(p.Height), int(p.OutHeight)
	first, end := (iy-1)*outHeight/height-1, (iy+2)*outHeight/height+2 // those that may, and a few
	for oy := max(first, 0); oy < min(end, outHeight); oy++ {
		y0, y1, f := bilinear(oy, height, outHeight)
		if y0 == iy {
			vector.AddScaled(sum, dy[oy*len(sum):], float32(1-f))
		}
		if y1 == iy {
			vector.AddScaled(sum, dy[oy*len(sum):], float32(f))
		}
	}
}

// addAlong adds to a row of the input's gradient a row of the output's width, each pixel to the two
// that it mixes.
func (p *resizeParams) addAlong(dx, dy []float32) {
	n := int(p.Channels)
	for ox := range int(p.OutWidth) {
		x0, x1, f := bilinear(ox, int(p.Width), int(p.OutWidth))
		left, right, d := dx[x0*n:][:n], dx[x1*n:][:n], dy[ox*n:][:n]
		for c, v := range d {
			left[c] += float32(1-f) * v
			right[c] += float32(f) * v
		}
	}
}
