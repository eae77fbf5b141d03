package metric

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Interval is a mean with its 95 % interval, which is missing for fewer than two values.
type Interval struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"` // nil together with High
	High *float64 `json:"high,omitempty"`
	N    int      `json:"n,omitempty"` // values, such as one of each image or patient
}

// Within is the interval of a figure that lies between two values, such as 0 and 1.
func (i Interval) Within(least, most float64) Interval {
	if i.Low != nil {
		i.Low, i.High = new(max(*i.Low, least)), new(min(*i.High, most))
	}
	return i
}

// Clear says whether the interval is there, and holds no 0.
func (i *Interval) Clear() bool { return i.Low != nil && (*i.Low > 0 || *i.High < 0) }

// Mean is the arithmetic mean; NaN without values.
func Mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Median is the middle value, or the mean of the middle two; NaN without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return Quantile(slices.Sorted(slices.Values(values)), .5)
}

// Quantile interpolates linearly between the order statistics of sorted values.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func square(x float64) float64 { return x * x }

// Wilson is the 95 % interval of a share, 0..1, that was observed in successes of n trials (Wilson
// 1927, without continuity correction). It is NaN for n = 0.
func Wilson(successes, n int) (low, high float64) {
	if successes < 0 || successes > n {
		panic(fmt.Sprintf("metric: Wilson: %d of %d", successes, n))
	}
	const z = 1.959963984540054 // the normal distribution's 97.5 percentile
	all, share := float64(n), float64(successes)/float64(n)
	middle := (share + z*z/(2*all)) / (1 + z*z/all)
	half := z / (1 + z*z/all) * math.Sqrt(share*(1-share)/all+z*z/(4*all*all))
	low, high = max(0, middle-half), min(1, middle+half)
	switch { // exactly 0 and 1 by the formula, but for rounding
	case n == 0:
	case successes == 0:
		low = 0
	case successes == n:
		high = 1
	}
	return low, high
}

// Line is the straight line y = slope·x + intercept of least squares. Both are NaN if x has fewer
// than two different values.
func Line(x, y []float64) (slope, intercept float64) {
	requireSame("Line", len(x), len(y))
	if len(x) == 0 || slices.Min(x) == slices.Max(x) {
		return math.NaN(), math.NaN()
	}
	mx, my := Mean(x), Mean(y)
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
