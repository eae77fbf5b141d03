package shaders

import "mrprism/internal/gpu"

func quantizeFast(p *quantizeParams, a []gpu.Array32, split gpu.Split) {
	inputs, width := int(p.Inputs), int(padded(p.Inputs))
	split(4*int(p.Words)/width, func(from, to int) {
		for pixel := from; pixel < to; pixel++ {
			x, q := a[0].F[pixel*inputs:][:inputs], a[1].B[pixel*width:][:width]
			for i, v := range x {
				q[i] = wholeSteps(v * p.Factor)
			}
			clear(q[inputs:])
		}
	})
}

func addInt8Fast(p *quantizeParams, a []gpu.Array32, split gpu.Split) {
	split(int(p.Words), func(from, to int) {
		x, y := a[0].F[4*from:4*to], a[2].F[4*from:4*to]
		for i, q := range a[1].B[4*from : 4*to] {
			y[i] = x[i] + float32(q)*p.Factor
		}
	})
}
