package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

func layerNormForwardFast(p *layerNormParams, a []gpu.Array32, split gpu.Split) {
	n, saved := int(p.Channels), a[4].F
	split(int(p.Rows), func(from, to int) {
		for row := from; row < to; row++ {
			x, y := a[0].F[row*n:][:n], a[3].F[row*n:][:n]
			saved[row], saved[int(p.Rows)+row] = vector.LayerNorm(y, x, a[1].F[:n], a[2].F[:n], p.Eps)
		}
	})
}
