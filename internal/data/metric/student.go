package metric

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// StudentQuantile is what a t-distributed variable stays below with probability p, 0.5 to 1.
func StudentQuantile(p, degrees float64) float64 {
	x := mathext.InvRegIncBeta(degrees/2, .5, 2*(1-p))
	return math.Sqrt(degrees * (1 - x) / x)
}

// Deviation is the standard deviation of a sample; NaN for fewer than two values.
func Deviation(values []float64) float64 {
	mean, squares := Mean(values), 0.
	for _, v := range values {
		squares += square(v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}
