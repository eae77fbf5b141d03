package shaders

import (
	"math"

	"mrprism/internal/gpu"
)

func layerNormForwardFast(p *layerNormParams, a []gpu.Array32, split gpu.Split) {
	n, saved := int(p.Channels), a[4].F
	scale, bias := a[1].F[:n], a[2].F[:n]
	split(int(p.Rows), func(from, to int) {
		for row := from; row < to; row++ {
			x, y := a[0].F[row*n:][:n], a[3].F[row*n:][:n]
			var mean, variance float32
			for _, v := range x {
				mean += v
			}
			mean /= float32(n)
			for _, v := range x {
				variance += (v - mean) * (v - mean)
			}
			r := float32(1 / math.Sqrt(float64(variance/float32(n)+p.Eps)))
			for c, v := range x {
				y[c] = (v-mean)*r*scale[c] + bias[c]
			}
			saved[row], saved[int(p.Rows)+row] = mean, r
		}
	})
}
