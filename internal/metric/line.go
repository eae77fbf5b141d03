package metric

import (
	"fmt"
	"math"
	"slices"
)

// Line is slope and intercept of the straight line y = slope·x + intercept of least squares; both NaN where x has fewer than two
// different values.
func Line(x, y []float64) (slope, intercept float64) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("metric: Line: %d and %d values", len(x), len(y)))
	}
	if len(x) == 0 || slices.Min(x) == slices.Max(x) {
		return math.NaN(), math.NaN()
	}
	mx, my := Mean(x), Mean(y)
	var square, product float64
	for i := range x {
		square += (x[i] - mx) * (x[i] - mx)
		product += (x[i] - mx) * (y[i] - my)
	}
	slope = product / square
	return slope, my - slope*mx
}
