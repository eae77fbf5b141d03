package pool

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// resizeForwardFast mixes two rows of inputs, and then neighbours in the mixed row.
func resizeForwardFast(p *resizeParams, a []gpu.Array32, split gpu.Split) {
	row, outRow := int(p.Width*p.Channels), int(p.OutWidth*p.Channels)
	places := p.columnSources()
	split(int(p.Rows), func(from, to int) {
		r := kernels.TakeRoom()
		defer r.Leave()
		mixed := kernels.RoomFor(&r.Rows, row)
		for at := from; at < to; at++ {
			y0, y1, f := bilinear(at%int(p.OutHeight), int(p.Height), int(p.OutHeight))
			image := a[0].F[at/int(p.OutHeight)*int(p.Height)*row:]
			if y0 == y1 {
				copy(mixed, image[y0*row:])
			} else {
				vector.Filter(mixed, image[y0*row:], row, []float32{float32(1 - f), float32(f)})
			}
			p.mixRow(a[1].F[at*outRow:][:outRow], mixed, places)
		}
	})
}

// columnSource is where a column of the output finds its two pixels in a row of the input.
type columnSource struct {
	left, right int
	share       float32 // weight of the right pixel
}

// columnSources are the sources of all columns.
func (p *resizeParams) columnSources() []columnSource {
	places, n := make([]columnSource, p.OutWidth), int(p.Channels)
	for ox := range places {
		x0, x1, f := bilinear(ox, int(p.Width), int(p.OutWidth))
		places[ox] = columnSource{x0 * n, x1 * n, float32(f)}
	}
	return places
}

// mixRow computes a row y of the output from a row x, by mixing neighbours.
func (p *resizeParams) mixRow(y, x []float32, places []columnSource) {
	n := int(p.Channels)
	for i, at := range places {
		if n == 2 { // loops over so few take long
			to, left, right := (*[2]float32)(y[2*i:]), (*[2]float32)(x[at.left:]), (*[2]float32)(x[at.right:])
			to[0], to[1] = left[0]+float32(at.share*(right[0]-left[0])), left[1]+float32(at.share*(right[1]-left[1]))
			continue
		}
		to, left, right := y[i*n:][:n], x[at.left:][:n], x[at.right:][:n]
		for c, v := range left {
			to[c] = v + float32(at.share*(right[c]-v)) // two roundings, on arm64 too
		}
	}
}

// resizeBackwardFast computes each row of dx: it sums rows of dy, and then pixels along the row.
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

// gatherRows sets sum to the rows of dy, each times the weight that the input's row iy has in it.
func (p *resizeParams) gatherRows(sum, dy []float32, iy int) {
	clear(sum)
	height, outHeight := int(p.Height), int(p.OutHeight)
	first, end := (iy-1)*outHeight/height-1, (iy+2)*outHeight/height+2 // rows that use iy, and some more
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

// addAlong adds dy, a row of the output's width, to a row of the input's gradient: each pixel to
// the two from which it is mixed.
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
