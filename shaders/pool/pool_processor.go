package pool

import (
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// poolForwardFast joins the rows of a window, all columns at once, then the columns. last finishes
// a pixel; it takes the number of pixels of the window.
func poolForwardFast(join func(y, x []float32), last func(y []float32, pixels int)) func(p *poolParams, a []gpu.Array32, split gpu.Split) {
	return func(p *poolParams, a []gpu.Array32, split gpu.Split) {
		n, width := int(p.Channels), int(p.Width*p.Channels)
		split(int(p.Rows), func(from, to int) {
			r := kernels.TakeRoom()
			defer r.Leave()
			joined := kernels.RoomFor(&r.Rows, width)
			for row := from; row < to; row++ {
				top, bottom := p.rowsOf(int32(row) % p.OutHeight)
				image := a[0].F[row/int(p.OutHeight)*int(p.Height)*width:]
				copy(joined, image[int(top)*width:])
				for iy := int(top) + 1; iy < int(bottom); iy++ {
					join(joined, image[iy*width:])
				}
				for ox := range p.OutWidth {
					y := a[1].F[(row*int(p.OutWidth)+int(ox))*n:][:n]
					left, right := p.columnsOf(ox)
					copy(y, joined[int(left)*n:])
					for ix := int(left) + 1; ix < int(right); ix++ {
						join(y, joined[ix*n:])
					}
					last(y, int((bottom-top)*(right-left)))
				}
			}
		})
	}
}

var (
	maxPoolFast     = poolForwardFast(vector.TakeLarger, func([]float32, int) {})
	averagePoolFast = poolForwardFast(vector.Add, func(y []float32, pixels int) {
		for i := range y {
			y[i] /= float32(pixels)
		}
	})
)

// covered are the pixels, of n, that window o covers.
func covered(o, stride, before, kernel, n int32) (from, to int32) {
	first := o*stride - before
	return max(first, 0), min(first+kernel, n)
}

// covering are the windows, of n, that cover pixel i.
func covering(i, stride, before, kernel, n int32) (from, to int32) {
	last := i + before
	return max(last-kernel+stride, 0) / stride, min(last/stride+1, n)
}

func (p *poolParams) rowsOf(oy int32) (from, to int32) {
	return covered(oy, p.StrideY, p.Top, p.KernelY, p.Height)
}

func (p *poolParams) columnsOf(ox int32) (from, to int32) {
	return covered(ox, p.StrideX, p.Left, p.KernelX, p.Width)
}

// maxPoolPlaceFast writes for every output pixel the place of its maximum in the image.
func maxPoolPlaceFast(p *poolParams, a []gpu.Array32, split gpu.Split) {
	n := int(p.Channels)
	split(int(p.Rows), func(from, to int) {
		r := kernels.TakeRoom()
		defer r.Leave()
		largest := kernels.RoomFor(&r.Rows, n)
		for row := from; row < to; row++ {
			image := a[0].F[row/int(p.OutHeight)*int(p.Height*p.Width)*n:]
			for ox := range p.OutWidth {
				places := a[1].F[(row*int(p.OutWidth)+int(ox))*n:][:n]
				p.placeMaxima(image, int32(row)%p.OutHeight, ox, largest, places)
			}
		}
	})
}

// placeMaxima finds the maxima of a window, channel by channel, and their places in the image.
func (p *poolParams) placeMaxima(image []float32, oy, ox int32, largest, places []float32) {
	top, bottom := p.rowsOf(oy)
	left, right := p.columnsOf(ox)
	for c := range places {
		largest[c], places[c] = float32(math.Inf(-1)), float32(top*p.Width+left)
	}
	for iy := top; iy < bottom; iy++ {
		for at := iy*p.Width + left; at < iy*p.Width+right; at++ {
			vector.PlaceLarger(largest, places, image[int(at)*len(places):], float32(at))
		}
	}
}

// eachCovering calls f for every row dx of the input's gradient and every output pixel whose window
// covers that row. f receives the output's dy and the index o of its first channel.
func (p *poolParams) eachCovering(dy, dx []float32, split gpu.Split, f func(ox, oy, iy int32, dy, dx []float32, o int)) {
	n := int(p.Channels)
	split(int(p.Rows), func(from, to int) {
		for row := from; row < to; row++ {
			iy, image := int32(row)%p.Height, row/int(p.Height)
			dx := dx[row*int(p.Width)*n:][:int(p.Width)*n]
			first, end := covering(iy, p.StrideY, p.Top, p.KernelY, p.OutHeight)
			for oy := first; oy < end; oy++ {
				for ox := range p.OutWidth {
					o := ((image*int(p.OutHeight)+int(oy))*int(p.OutWidth) + int(ox)) * n
					f(ox, oy, iy, dy[o:][:n], dx, o)
				}
			}
		}
	})
}

func maxPoolBackwardFast(p *poolParams, a []gpu.Array32, split gpu.Split) {
	n := int(p.Channels)
	p.eachCovering(a[0].F, a[2].F, split, func(ox, _, iy int32, dy, dx []float32, o int) {
		places := a[1].F[o:][:n]
		left, right := p.columnsOf(ox)
		for ix := left; ix < right; ix++ {
			vector.AddWhere(dx[int(ix)*n:][:n], dy, places, float32(iy*p.Width+ix))
		}
	})
}

func averagePoolBackwardFast(p *poolParams, a []gpu.Array32, split gpu.Split) {
	n := int(p.Channels)
	p.eachCovering(a[0].F, a[1].F, split, func(ox, oy, _ int32, dy, dx []float32, _ int) {
		top, bottom := p.rowsOf(oy)
		left, right := p.columnsOf(ox)
		for ix := left; ix < right; ix++ {
			vector.AddScaled(dx[int(ix)*n:][:n], dy, 1/float32((bottom-top)*(right-left)))
		}
	})
}
