package model

import (
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
	assert.InDeltaSlice(t, []float32{-0.05, 0.05}, dim, 1e-5)
}
