package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The example of Shrout and Fleiss (1979): six targets, four judges, ICC(2,1) = .29.
func TestICC(t *testing.T) {
	values := [][]float64{{9, 2, 5, 8}, {6, 1, 3, 2}, {8, 4, 6, 8}, {7, 1, 2, 6}, {10, 5, 6, 9}, {6, 2, 4, 7}}
	// psych of R and pingouin of Python give .29 [.02, .76] for these (Shrout and Fleiss 1979); the
	// digits are those of the same formulas with F by SciPy 1.10.1.
	icc := ICC(values)
	assert.InDeltaSlice(t, []float64{0.2897637795275592, 0.018786513374712044, 0.7610843696489528}, []float64{icc.Mean, *icc.Low, *icc.High}, 1e-9)
	assert.InDelta(t, 1, ICC([][]float64{{1, 1}, {2, 2}, {5, 5}}).Mean, 1e-12)
	assert.True(t, math.IsNaN(ICC(values[:1]).Mean))
	assert.True(t, math.IsNaN(ICC([][]float64{{.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}}).Mean),
		"of equal values that no sum has exactly")
	assert.True(t, math.IsNaN(ICC([][]float64{{1, 0}, {0, 1}}).Mean))
}
