package metric

import (
	"fmt"
	"math"
	"slices"
)

// Hausdorff95 is the robust Hausdorff distance of two masks (h, w), in pixels: the larger of the two 95th percentiles of the distances from one
// outline to the other. An outline are the pixels inside that have a neighbour outside, above, below, left or right, or lie on the border. Both
// empty give 0, one empty NaN.
func Hausdorff95[A, B Pixel](a []A, b []B, w, h int) float64 {
	from, to := outline(a, w, h), outline(b, w, h)
	switch {
	case len(from) == 0 && len(to) == 0:
		return 0
	case len(from) == 0 || len(to) == 0:
		return math.NaN()
	}
	return max(reach(from, to), reach(to, from))
}

type point struct{ x, y int }

func outline[T Pixel](mask []T, w, h int) (points []point) {
	if len(mask) != w*h {
		panic(fmt.Sprintf("metric: outline: %d values for %d×%d", len(mask), w, h))
	}
	for y := range h {
		for x := range w {
			i := y*w + x
			if inside(mask[i]) && (x == 0 || y == 0 || x == w-1 || y == h-1 ||
				!inside(mask[i-1]) || !inside(mask[i+1]) || !inside(mask[i-w]) || !inside(mask[i+w])) {
				points = append(points, point{x, y})
			}
		}
	}
	return points
}

// reach is the 95th percentile of the distances of points to the nearest of others.
func reach(points, others []point) float64 {
	distances := make([]float64, len(points))
	for i, p := range points {
		least := math.MaxInt
		for _, q := range others {
			dx, dy := p.x-q.x, p.y-q.y
			least = min(least, dx*dx+dy*dy)
		}
		distances[i] = math.Sqrt(float64(least))
	}
	slices.Sort(distances)
	return quantile(distances, .95)
}
