package weights

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStandardise(t *testing.T) {
	x := []float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}
	Standardise(x)
	a := make([]float64, len(x))
	for i, v := range x {
		a[i] = float64(v)
	}
	mean, sigma := deviation(a)
	assert.InDelta(t, 0, mean, 1e-7)
	assert.InDelta(t, 1, sigma, 1e-6)

	dim := []float32{0.5, 0.502} // a deviation of 0.001
	Standardise(dim)
	assert.InDeltaSlice(t, []float32{-0.1, 0.1}, dim, 1e-5)
}

// A few specks neither dim the rest nor get beyond 4 deviations.
func TestStandardiseOfSpecks(t *testing.T) {
	plain, specked := make([]float32, 100), make([]float32, 100)
	for i := range plain {
		plain[i] = float32(i%10) / 100
		specked[i] = plain[i]
	}
	for i := 9; i < 50; i += 10 {
		specked[i] = 1
	}
	Standardise(plain)
	Standardise(specked)
	for i := range plain {
		if i%10 == 9 && i < 50 {
			assert.Equal(t, float32(4), specked[i])
		} else {
			assert.InDelta(t, plain[i], specked[i], 1e-6)
		}
	}
}

// deviation is the mean of values and their standard deviation.
func deviation(values []float64) (mean, sigma float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sigma += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(sigma)
}
