package metrics

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// 2*scipy.stats.t.sf(x, n), SciPy 1.10.
func TestStudent(t *testing.T) {
	assert.InDelta(t, 0.05, StudentTest(4.302652729696142, 2), 1e-10)
	assert.InDelta(t, 0.05, StudentTest(-2.2621571627409915, 9), 1e-10)
}

// Three runs of three cases, by hand: the runs' means 2, 4 and 6 have a variance of 4, and so have
// the cases'. A third of each is 4/3, their sum 8/3, with 4 degrees of freedom. Two runs have one.
// A case that one run alone has counts with its value.
func TestOverRuns(t *testing.T) {
	e := OverRuns([][]float64{{0, 2, 4}, {2, 4, 6}, {4, 6, 8}})
	assert.Equal(t, 4., e.Mean)
	assert.InDelta(t, 4+2.7764451051977987*math.Sqrt(8./3), *e.High, 1e-9)
	assert.InDelta(t, StudentTest(4/math.Sqrt(8./3), 4), e.P, 1e-12)
	assert.Equal(t, [2]int{3, 3}, [2]int{e.Runs, e.N})
	e = OverRuns([][]float64{{1, 3}, {3, 5}})
	assert.InDelta(t, 3+12.706204736432095*math.Sqrt2, *e.High, 1e-9)
	missing := math.NaN()
	assert.InDelta(t, 13./3, OverRuns([][]float64{{1, 3, missing}, {3, 5, 7}}).Mean, 1e-12, "of 2, 4 and 7, each case once")
	for _, equal := range []float64{0, 1} {
		e = OverRuns([][]float64{{equal, equal}, {equal, equal}})
		assert.Equal(t, 1-equal, e.P, "the same everywhere")
		assert.Equal(t, equal, *e.Low)
	}
	assert.Nil(t, OverRuns(nil).Low)
}
