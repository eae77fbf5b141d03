package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	values := []float64{5, 1, 3}
	assert.Equal(t, 3., Median(values))
	assert.Equal(t, []float64{5, 1, 3}, values, "what is given is not sorted in place")
	assert.Equal(t, 2.5, Median([]float64{4, 1, 9, 1}))
	assert.True(t, math.IsNaN(Median(nil)))
}
