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

func resizeBackwardFast(p *resizeParams, a []gpu.Array32, split gpu.Split) {
	height, row, outRow := int(p.Height), int(p.Width*p.Channels), int(p.OutWidth*p.Channels)
	outHeight := int(p.OutHeight)
	split(int(p.Rows), func(from, to int) {
		for r := from; r < to; r++ {
			iy, dy := r%height, a[0].F[r/height*outHeight*outRow:]
			// A row above and below, for what rounding makes of positions.
			first, end := (iy-1)*outHeight/height-1, (iy+2)*outHeight/height+2
			for oy := max(first, 0); oy < min(end, outHeight); oy++ {
				y0, y1, f := bilinear(oy, height, outHeight)
				if y0 == iy {
					p.addRow(a[1].F[r*row:], dy[oy*outRow:], float32(1-f))
				}
				if y1 == iy {
					p.addRow(a[1].F[r*row:], dy[oy*outRow:], float32(f))
				}
			}
		}
	})
}

// addRow adds to a row of the input's gradient what a row of outputs has in it.
func (p *resizeParams) addRow(dx, dy []float32, weight float32) {
	n := int(p.Channels)
	for ox := range int(p.OutWidth) {
		x0, x1, f := bilinear(ox, int(p.Width), int(p.OutWidth))
		d := dy[ox*n:][:n]
		vector.AddScaled(dx[x0*n:][:n], d, weight*float32(1-f))
		vector.AddScaled(dx[x1*n:][:n], d, weight*float32(f))
	}
}
