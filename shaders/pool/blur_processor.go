package pool

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/vector"
)

// blurFast filters the middle of an axis in one go, where the whole window is inside, and its ends
// element by element of the axis.
func blurFast(p *blurParams, a []gpu.Array32, split gpu.Split) {
	inner, length, radius := int(p.Inner), int(p.Length), int(p.Radius)
	window := a[1].F[:2*radius+1]
	split(int(p.Outer), func(from, to int) {
		for outer := from; outer < to; outer++ {
			x, y := a[0].F[outer*length*inner:][:length*inner], a[2].F[outer*length*inner:][:length*inner]
			for q := 0; q < length; q++ {
				first, last, count := max(-radius, -q), min(radius, length-1-q), 1
				if first == -radius && last == radius {
					count = length - radius - q
				}
				vector.Filter(y[q*inner:(q+count)*inner], x[(q+first)*inner:], inner, window[first+radius:last+radius+1])
				q += count - 1
			}
		}
	})
}
