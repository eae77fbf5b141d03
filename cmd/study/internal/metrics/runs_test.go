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

// Three runs of three cases, by hand: the runs' means 2, 4 and 6 have a variance of 4, and two runs
// share one of 4 over their cases. A third of each is 4/3, their sum 8/3, with 2 degrees of freedom.
// Where no run has a case of another, the runs' means alone vary, unless the cases vary more.
func TestOverRuns(t *testing.T) {
	missing := math.NaN()
	for name, c := range map[string]struct {
		values         [][]float64
		mean, variance float64
	}{
		"the same cases":      {[][]float64{{0, 2, 4}, {2, 4, 6}, {4, 6, 8}}, 4, 8. / 3},
		"opposite cases":      {[][]float64{{0, 2, 4}, {6, 4, 2}, {6, 6, 6}}, 4, 4. / 3},
		"cases of their own":  {[][]float64{{1, 3, missing, missing, missing, missing}, {missing, missing, 3, 5, missing, missing}, {missing, missing, missing, missing, 5, 7}}, 4, 4. / 3},
		"runs alike":          {[][]float64{{0, 8, missing, missing, missing, missing}, {missing, missing, 0, 8, missing, missing}, {missing, missing, missing, missing, 0, 8}}, 4, 6 * 16. / 5 / 6},
		"two share two cases": {[][]float64{{0, 4, missing, missing}, {0, 4, missing, missing}, {missing, missing, 2, 2}}, 2, 8. / 2 / 3},
	} {
		e := OverRuns(c.values)
		assert.InDelta(t, c.mean, e.Mean, 1e-12, name)
		assert.InDelta(t, c.mean+4.302652729696142*math.Sqrt(c.variance), *e.High, 1e-9, name)
		assert.InDelta(t, StudentTest(c.mean/math.Sqrt(c.variance), 2), e.P, 1e-12, name)
		assert.Equal(t, 3, e.Runs, name)
	}
	assert.InDelta(t, 13./3, OverRuns([][]float64{{1, 3, missing}, {3, 5, 7}}).Mean, 1e-12, "of 2, 4 and 7, each case once")
	for name, little := range map[string][][]float64{"none": nil, "two": {{1, 3}, {3, 5}}, "equal": {{1, 1}, {1, 1}, {1, 1}}, "one case": {{1}, {2}, {3}}} {
		e := OverRuns(little)
		assert.Nil(t, e.Low, name)
		assert.True(t, math.IsNaN(e.P), name)
	}
}
