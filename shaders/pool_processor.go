package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// poolForwardFast gives every output pixel the pixels of its window, one after the other, and then their number.
func poolForwardFast(first, next func(y, x []float32), last func(y []float32, pixels int)) func(p *poolParams, a []gpu.Array32, split gpu.Split) {
	return func(p *poolParams, a []gpu.Array32, split gpu.Split) {
		n := int(p.Channels)
		split(int(p.Rows), func(from, to int) {
			for row := from; row < to; row++ {
				top := int32(row)%p.OutHeight*p.StrideY - p.Top
				image := a[0].F[row/int(p.OutHeight)*int(p.Height*p.Width)*n:]
				for ox := range p.OutWidth {
					y := a[1].F[(row*int(p.OutWidth)+int(ox))*n:][:n]
					left, pixels, take := ox*p.StrideX-p.Left, 0, first
					for iy := max(top, 0); iy < min(top+p.KernelY, p.Height); iy++ {
						for ix := max(left, 0); ix < min(left+p.KernelX, p.Width); ix++ {
							take(y, image[int(iy*p.Width+ix)*n:][:n])
							pixels, take = pixels+1, next
						}
					}
					last(y, pixels)
				}
			}
		})
	}
}

func setFast(y, x []float32) { copy(y, x) }

func maxFast(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		if v > y[i] || v != v { // a NaN wins, and stays
			y[i] = v
		}
	}
}

var (
	maxPoolFast     = poolForwardFast(setFast, maxFast, func([]float32, int) {})
	averagePoolFast = poolForwardFast(setFast, vector.Add, func(y []float32, pixels int) {
		for i := range y {
			y[i] /= float32(pixels)
		}
	})
)
