package metric

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Interval is a mean with its 95 % interval, which is missing where there are fewer than two values.
type Interval struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"` // nil together with High
	High *float64 `json:"high,omitempty"`
}

// String writes the mean, and the interval where there is one.
func (i Interval) String() string {
	if i.Low == nil {
		return fmt.Sprintf("%.4g", i.Mean)
	}
	return fmt.Sprintf("%.4g [%.4g, %.4g]", i.Mean, *i.Low, *i.High)
}

// Bootstrap resamples the values (one a case) with replacement and takes the 2.5 and 97.5 percentiles of the means. The same seed
// gives the same interval; 2,000 resamples are plenty. The mean is NaN without values; of one value all samples are the same, so that there is no
// interval, nor is there without resamples.
func Bootstrap(values []float64, resamples int, seed uint64) Interval {
	if len(values) < 2 || resamples < 1 {
		return Interval{Mean: Mean(values)}
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	for r := range means {
		var sum float64
		for range values {
			sum += values[rng.IntN(len(values))]
		}
		means[r] = sum / float64(len(values))
	}
	slices.Sort(means)
	low, high := quantile(means, .025), quantile(means, .975)
	return Interval{Mean(values), &low, &high}
}

// Mean is the arithmetic mean; NaN without values.
func Mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile interpolates linearly between the order statistics of sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
