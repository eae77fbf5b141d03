package metrics

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The examples of Newcombe (1998, Statistics in Medicine 17, table I, method 3).
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		successes, n int
		low, high    float64
	}{
		{81, 263, .2553, .3662}, {15, 148, .0624, .1605}, {0, 20, 0, .1611}, {1, 29, .0061, .1718}, {20, 20, 1 - .1611, 1},
	} {
		low, high := Wilson(c.successes, c.n)
		assert.InDelta(t, c.low, low, 5e-5, "%d of %d", c.successes, c.n)
		assert.InDelta(t, c.high, high, 5e-5, "%d of %d", c.successes, c.n)
	}
	low, _ := Wilson(0, 7)
	_, high := Wilson(7, 7)
	assert.Equal(t, []float64{0, 1}, []float64{low, high})
	low, high = Wilson(0, 0)
	assert.True(t, math.IsNaN(low) && math.IsNaN(high))
	assert.Panics(t, func() { Wilson(3, 2) })
}
