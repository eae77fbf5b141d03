package metrics

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"mrprism/internal/data/metric"
)

// Line is the straight line y = slope·x + intercept of least squares. Both are NaN if x has fewer
// than two different values.
func Line(x, y []float64) (slope, intercept float64) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("metrics: Line: %d values against %d", len(x), len(y)))
	}
	if len(x) == 0 || slices.Min(x) == slices.Max(x) {
		return math.NaN(), math.NaN()
	}
	mx, my := metric.Mean(x), metric.Mean(y)
	var squares, products float64
	for i := range x {
		squares += square(x[i] - mx)
		products += (x[i] - mx) * (y[i] - my)
	}
	slope = products / squares
	return slope, my - slope*mx
}

// Spearman is the rank correlation of x and y, -1..1: Pearson's correlation of their ranks. Equal
// values share the mean of their ranks. It is NaN if x or y has fewer than two different values.
func Spearman(x, y []float64) float64 {
	up, _ := Line(ranks(x), ranks(y))
	down, _ := Line(ranks(y), ranks(x))
	if math.IsNaN(up) || math.IsNaN(down) {
		return math.NaN()
	}
	return math.Copysign(math.Sqrt(up*down), up)
}

// ranks are the values' positions in sorted order, from 0; equal values share their mean.
func ranks(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	out := make([]float64, len(x))
	for i, v := range x {
		first, after := equals(sorted, v)
		out[i] = float64(first+after-1) / 2
	}
	return out
}

// equals returns the range of positions of v in sorted. If sorted lacks v, the range is empty and
// lies where v belongs.
func equals(sorted []float64, v float64) (first, after int) {
	first, _ = slices.BinarySearch(sorted, v)
	return first, first + sort.Search(len(sorted)-first, func(i int) bool { return sorted[first+i] != v })
}
