package norm

import (
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
)

func layerNormForwardFast(p *LayerNormParams, a []gpu.Array32, split gpu.Split) {
	n, saved := int(p.Channels), a[4].F
	split(int(p.Rows), func(from, to int) {
		x, y := a[0].F[from*n:to*n], a[3].F[from*n:to*n]
		vector.LayerNorm(y, x, a[1].F[:n], a[2].F[:n], p.Eps, saved[from:to], saved[int(p.Rows)+from:int(p.Rows)+to])
	})
}
