package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHolm(t *testing.T) {
	// By hand: .005·4, .01·3, .03·2, and .04·1 is raised to .06.
	assert.InDeltaSlice(t, []float64{.03, .06, .06, .02}, Holm([]float64{.01, .04, .03, .005}), 1e-12)
	assert.InDeltaSlice(t, []float64{1, 1, .2}, Holm([]float64{.5, .9, .2 / 3}), 1e-12, "at most 1")
	assert.InDeltaSlice(t, []float64{.2}, Holm([]float64{.2}), 1e-12)
	assert.Empty(t, Holm(nil))
}
