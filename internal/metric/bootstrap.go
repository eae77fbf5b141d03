package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a mean with its 95 % interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// String writes the mean and the interval.
func (i Interval) String() string { return fmt.Sprintf("%.4g [%.4g, %.4g]", i.Mean, i.Low, i.High) }

// Bootstrap resamples the values (one a case) with replacement and takes the 2.5 and 97.5 percentiles of the means. The same seed
// gives the same interval; 2,000 resamples are plenty. All NaN without values.
func Bootstrap(values []float64, resamples int, seed uint64) Interval {
	if len(values) == 0 || resamples < 1 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
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
	return Interval{Mean: Mean(values), Low: quantile(means, .025), High: quantile(means, .975)}
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
