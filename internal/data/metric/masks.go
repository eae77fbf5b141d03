package metric

import (
	"fmt"
	"math"
	"slices"
)

// Pixel is a mask's value, 0 or 1, or a probability. A probability above one half is inside.
type Pixel interface{ ~uint8 | ~float32 }

func inside[T Pixel](v T) bool { return float64(v) > 0.5 }

// requireSame panics if a and b, the numbers of values that the named function got, differ.
func requireSame(function string, a, b int) {
	if a != b {
		panic(fmt.Sprintf("metric: %s: %d values against %d", function, a, b))
	}
}

// Dice is 2|A∩B|/(|A| + |B|) of two masks. Two empty masks give 1.
func Dice[A, B Pixel](a []A, b []B) float64 {
	requireSame("Dice", len(a), len(b))
	var both, sum int
	for i, v := range a {
		inA, inB := inside(v), inside(b[i])
		if inA {
			sum++
		}
		if inB {
			sum++
		}
		if inA && inB {
			both++
		}
	}
	return share(both, sum, 0)
}

// share is (2·both + ε)/(sum + ε), the Dice of two masks with `both` pixels in common and `sum`
// pixels in all. It is 1 if both masks are empty.
func share(both, sum int, epsilon float64) float64 {
	if sum == 0 {
		return 1
	}
	return (2*float64(both) + epsilon) / (float64(sum) + epsilon)
}

// Area is the number of pixels inside a mask.
func Area[T Pixel](mask []T) (n int) {
	for _, v := range mask {
		if inside(v) {
			n++
		}
	}
	return n
}

// VerticalDiameter is the largest number of pixels inside the mask (h, w) in any one column.
func VerticalDiameter[T Pixel](mask []T, w, h int) int {
	requireSame("VerticalDiameter", len(mask), w*h)
	return fullest(mask, w+1, func(i int) int { return i % w })
}

// HorizontalDiameter is the largest number of pixels inside the mask (h, w) in any one row.
func HorizontalDiameter[T Pixel](mask []T, w, h int) int {
	requireSame("HorizontalDiameter", len(mask), w*h)
	return fullest(mask, h+1, func(i int) int { return i / w })
}

// fullest is the largest number of pixels inside in any one of n lines. n is at least 1.
func fullest[T Pixel](mask []T, n int, line func(i int) int) int {
	lines := make([]int, n)
	for i, v := range mask {
		if inside(v) {
			lines[line(i)]++
		}
	}
	return slices.Max(lines)
}

// VerticalRatio is the vertical cup-to-disc ratio of two masks (h, w).
func VerticalRatio[T Pixel](disc, cup []T, w, h int) float64 {
	return DiameterRatio(VerticalDiameter(disc, w, h), VerticalDiameter(cup, w, h))
}

// DiameterRatio is the cup's diameter / the disc's. It is 0 if the disc is empty, since a cup
// without a disc is meaningless.
func DiameterRatio(disc, cup int) float64 {
	if disc == 0 {
		return 0
	}
	return float64(cup) / float64(disc)
}

// Hausdorff95 is the robust Hausdorff distance of two masks (h, w), in pixels: the larger of the
// two 95th percentiles of the distances from one outline to the other. An outline pixel is inside
// and has a neighbour outside (above, below, left or right) or lies on the border. Two empty masks
// give 0, one empty mask gives NaN.
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

// reach is the 95th percentile of the distances from each point to the nearest point of others.
// Points and others are sorted by row.
func reach(points, others []point) float64 {
	rows := byRow(others)
	distances := make([]float64, len(points))
	for i, p := range points {
		distances[i] = math.Sqrt(float64(rows.nearest(p)))
	}
	slices.Sort(distances)
	return quantile(distances, .95)
}

// lines are points by row: lines[y] are those of row y, in ascending order.
type lines [][]point

func byRow(points []point) lines {
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
