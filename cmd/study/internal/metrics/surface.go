package metrics

import (
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/metric"
)

func inside[T metric.Pixel](v T) bool { return float64(v) > 0.5 }

// requireSame panics if a and b, the numbers of values that the named function got, differ.
func requireSame(function string, a, b int) {
	if a != b {
		panic(fmt.Sprintf("metrics: %s: %d values against %d", function, a, b))
	}
}

// Surface is the distances between the outlines of two masks (h, w), in pixels: from each pixel of
// one outline to the nearest of the other, ascending; NaN if the other mask is empty. An outline
// pixel is inside and has a neighbour outside (above, below, left or right) or lies on the border.
type Surface struct {
	there, back []float64
	diagonal    float64 // of the image
}

// SurfaceOf measures two masks.
func SurfaceOf[A, B metric.Pixel](a []A, b []B, w, h int) Surface {
	from, to := outline(a, w, h), outline(b, w, h)
	return Surface{distances(from, to), distances(to, from), math.Hypot(float64(w), float64(h))}
}

// OneEmpty says whether one of the masks is empty, and the other is not.
func (s Surface) OneEmpty() bool { return (len(s.there) == 0) != (len(s.back) == 0) }

// empty says whether a mask is. The distance is then 0 if both are, else the image's diagonal, the
// largest of all: without it who marks nothing would have the better mean (Metrics Reloaded,
// Maier-Hein et al. 2024).
func (s Surface) empty() (distance float64, is bool) {
	if s.OneEmpty() {
		return s.diagonal, true
	}
	return 0, len(s.there) == 0
}

// Hausdorff95 is the robust Hausdorff distance: the larger of the two 95th percentiles.
func (s Surface) Hausdorff95() float64 {
	if d, is := s.empty(); is {
		return d
	}
	return max(metric.Quantile(s.there, .95), metric.Quantile(s.back, .95))
}

// Average is the average symmetric surface distance (ASSD): the mean over the pixels of both
// outlines.
func (s Surface) Average() float64 {
	if d, is := s.empty(); is {
		return d
	}
	return metric.Mean(slices.Concat(s.there, s.back))
}

// Dice is the share of the pixels of both outlines that lie within a tolerance of the other outline
// (Nikolov et al. 2021). Two empty masks give 1, one empty mask gives 0.
func (s Surface) Dice(tolerance float64) float64 {
	all, near := slices.Concat(s.there, s.back), 0
	for _, d := range all {
		if d <= tolerance {
			near++
		}
	}
	if len(all) == 0 {
		return 1
	}
	return float64(near) / float64(len(all))
}

type point struct{ x, y int }

func outline[T metric.Pixel](mask []T, w, h int) (points []point) {
	requireSame("outline", len(mask), w*h)
	for i, v := range mask {
		x, y := i%w, i/w
		if inside(v) && (x == 0 || y == 0 || x == w-1 || y == h-1 ||
			!inside(mask[i-1]) || !inside(mask[i+1]) || !inside(mask[i-w]) || !inside(mask[i+w])) {
			points = append(points, point{x, y})
		}
	}
	return points
}

// distances are those from each point to the nearest point of others, ascending. Points and others
// are sorted by row.
func distances(points, others []point) []float64 {
	distances := make([]float64, len(points))
	rows := byRow(others)
	for i, p := range points {
		distances[i] = math.NaN()
		if len(others) > 0 {
			distances[i] = math.Sqrt(float64(rows.nearest(p)))
		}
	}
	slices.Sort(distances)
	return distances
}

// lines are points by row: lines[y] are those of row y, in ascending order.
type lines [][]point

func byRow(points []point) lines {
	if len(points) == 0 {
		return nil
	}
	rows := make(lines, points[len(points)-1].y+1)
	for start := 0; start < len(points); {
		y, end := points[start].y, start
		for end < len(points) && points[end].y == y {
			end++
		}
		rows[y], start = points[start:end], end
	}
	return rows
}

// nearest is the least squared distance from p to a point. The search begins in p's row and ends
// with the rows that are farther away than the best point.
func (l lines) nearest(p point) (least int) {
	least = math.MaxInt
	for dy := 0; dy*dy < least && (p.y-dy >= 0 || p.y+dy < len(l)); dy++ {
		for _, y := range [2]int{p.y - dy, p.y + dy} {
			if y < 0 || y >= len(l) {
				continue
			}
			row := l[y]
			at, _ := slices.BinarySearchFunc(row, p.x, func(q point, x int) int { return q.x - x })
			for _, q := range row[max(0, at-1):min(at+1, len(row))] {
				least = min(least, (q.x-p.x)*(q.x-p.x)+dy*dy)
			}
		}
	}
	return least
}
