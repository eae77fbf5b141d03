package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

func resizeForwardFast(p *resizeParams, a []gpu.Array32, split gpu.Split) {
	n, width := int(p.Channels), int(p.Width)
	split(int(p.Rows), func(from, to int) {
		for row := from; row < to; row++ {
			y0, y1, fy := bilinear(row%int(p.OutHeight), int(p.Height), int(p.OutHeight))
			image := row / int(p.OutHeight) * int(p.Height)
			upper, lower := a[0].F[(image+y0)*width*n:][:width*n], a[0].F[(image+y1)*width*n:][:width*n]
			for ox := range int(p.OutWidth) {
				x0, x1, fx := bilinear(ox, width, int(p.OutWidth))
				y := a[1].F[(row*int(p.OutWidth)+ox)*n:][:n]
				right, down := float32(fx), float32(fy)
				q00, q01, q10, q11 := upper[x0*n:][:n], upper[x1*n:][:n], lower[x0*n:][:n], lower[x1*n:][:n]
				for c := range y {
					up, low := q00[c]+right*(q01[c]-q00[c]), q10[c]+right*(q11[c]-q10[c])
					y[c] = up + down*(low-up)
				}
			}
		}
	})
}

// resizeBackwardFast gathers for each row of inputs from the rows of outputs, and then along it.
func resizeBackwardFast(p *resizeParams, a []gpu.Array32, split gpu.Split) {
	row, outRow := int(p.Width*p.Channels), int(p.OutWidth*p.Channels)
	split(int(p.Rows), func(from, to int) {
		r := takeRoom()
		defer r.leave()
		sum := roomFor(&r.rows, outRow)
		for at := from; at < to; at++ {
			image := a[0].F[at/int(p.Height)*int(p.OutHeight)*outRow:]
			p.gatherRows(sum, image, at%int(p.Height))
			p.addAlong(a[1].F[at*row:][:row], sum)
		}
	})
}

// gatherRows makes sum what the rows of outputs have in row iy of the inputs.
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

// addAlong adds to a row of the input's gradient what a row like the outputs' has in it.
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
