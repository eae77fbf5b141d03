package metric

import (
	"fmt"
	"math"
	"slices"
)

// Spearman is the rank correlation of x and y, -1..1: Pearson's of their ranks, equal values sharing the mean of theirs. NaN where there are
// fewer than two different values of either.
func Spearman(x, y []float64) float64 {
	if len(x) != len(y) {
		panic(fmt.Sprintf("metric: Spearman: %d and %d values", len(x), len(y)))
	}
	up, _ := Line(ranks(x), ranks(y))
	down, _ := Line(ranks(y), ranks(x))
	if math.IsNaN(up) || math.IsNaN(down) {
		return math.NaN()
	}
	return math.Copysign(math.Sqrt(up*down), up)
}

func ranks(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	out := make([]float64, len(x))
	for i, v := range x {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		out[i] = float64(first+last-1) / 2
	}
	return out
}
