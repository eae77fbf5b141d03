package metric

import (
	"fmt"
	"math"
	"slices"
)

// Pixel is a mask's value, 0 or 1, or a probability. A probability above one half is inside.
type Pixel interface{ ~uint8 | ~float32 }

func inside[T Pixel](v T) bool { return float64(v) > 0.5 }

// same panics if a and b, the numbers of values that the named function got, differ.
func same(function string, a, b int) {
	if a != b {
		panic(fmt.Sprintf("metric: %s: %d values against %d", function, a, b))
	}
}

// Dice is 2|A∩B|/(|A| + |B|) of two masks. Two empty masks give 1.
func Dice[A, B Pixel](a []A, b []B) float64 {
	same("Dice", len(a), len(b))
	return overlap(len(a), 0, func(i int) (bool, bool) { return inside(a[i]), inside(b[i]) })
}

// overlap is (2|A∩B| + ε)/(|A| + |B| + ε) over n pixels; at says whether pixel i is in A and in
// B.
func overlap(n int, epsilon float64, at func(i int) (inA, inB bool)) float64 {
	var both, sum int
	for i := range n {
		inA, inB := at(i)
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
	same("VerticalDiameter", len(mask), w*h)
	return fullest(mask, w+1, func(i int) int { return i % w })
}

// HorizontalDiameter is the largest number of pixels inside the mask (h, w) in any one row.
func HorizontalDiameter[T Pixel](mask []T, w, h int) int {
	same("HorizontalDiameter", len(mask), w*h)
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

// VerticalRatio is the vertical cup-to-disc ratio: the cup's vertical diameter / the disc's. It is
// 0 if the disc is empty: a cup without a disc means nothing.
func VerticalRatio[T Pixel](disc, cup []T, w, h int) float64 {
	outer := VerticalDiameter(disc, w, h)
	if outer == 0 {
		return 0
	}
	return float64(VerticalDiameter(cup, w, h)) / float64(outer)
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
	same("outline", len(mask), w*h)
	for i, v := range mask {
		x, y := i%w, i/w
		if inside(v) && (x == 0 || y == 0 || x == w-1 || y == h-1 ||
			!inside(mask[i-1]) || !inside(mask[i+1]) || !inside(mask[i-w]) || !inside(mask[i+w])) {
			points = append(points, point{x, y})
		}
	}
	return points
}

// reach is the 95th percentile of the distances from each point to the nearest of others.
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
