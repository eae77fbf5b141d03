package metrics

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLine(t *testing.T) {
	slope, intercept := Line([]float64{.2, .4, .8}, []float64{.45, .55, .75})
	assert.InDelta(t, .5, slope, 1e-12)
	assert.InDelta(t, .35, intercept, 1e-12)
	// By hand: means 1 and 2, Σxy = 1·(1), Σx² = 2 about them.
	slope, intercept = Line([]float64{0, 1, 2}, []float64{1, 3, 2})
	assert.InDelta(t, .5, slope, 1e-12)
	assert.InDelta(t, 1.5, intercept, 1e-12)
	for _, x := range [][]float64{nil, {3}, {.1, .1, .1}} {
		slope, intercept = Line(x, make([]float64, len(x)))
		assert.True(t, math.IsNaN(slope) && math.IsNaN(intercept))
	}
	assert.Panics(t, func() { Line([]float64{1}, nil) })
}
