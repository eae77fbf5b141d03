package shaders

import "mrprism/internal/gpu"

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
