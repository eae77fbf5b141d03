// Package metrics compares the methods of a study, and tests what it measures: differences over
// runs, p-values, correlations, and areas under curves.
package metrics

import (
	"math"
	"slices"

	"mrprism/internal/data/metric"

	"gonum.org/v1/gonum/mathext"
)

// StudentTest is the probability that a t-distributed variable is as far from 0 as t, or farther.
func StudentTest(t, degrees float64) float64 {
	return mathext.RegIncBeta(degrees/2, .5, degrees/(degrees+t*t))
}

// Effect is the mean of differences over their standard deviation (Cohen 1988, d_z). It is NaN for
// fewer than two values, and for equal ones.
func Effect(differences []float64) float64 {
	if spread := metric.Deviation(differences); spread > 0 {
		return metric.Mean(differences) / spread
	}
	return math.NaN()
}

// Estimate is a mean over runs and cases.
type Estimate struct {
	metric.Interval
	P      float64 `json:"-"` // of the mean being 0; NaN without an interval over runs
	Effect float64 `json:"-"` // of the cases' means
	Runs   int     `json:"runs"`
}

// LeastRuns is how many runs an interval needs: of two the spread is a guess.
const LeastRuns = 3

// OverRuns is the mean of what several runs of a method, or of two, give on several cases:
// values[run][case], where NaN stands for a case that a run has not. Both runs and cases are a
// sample: another run, and other cases, would give another mean. The variance of the mean is that of
// the runs' means over their number, and what their means share, since runs share cases: the mean
// covariance of two of them. It is at least that of the cases' means over their number. t has as
// many degrees of freedom as runs or cases, whichever are fewer, less one. A simulation with the
// variances of kept scores rejects a true mean of 0 no more often than p says, at .05, .01 and .001
// (cmd/study/tables, TestErrorRates). That networks of different folds learned from images in
// common, no p can see (Bengio & Grandvalet 2004). Fewer than LeastRuns runs, and runs that are
// equal in everything, have no interval and no p.
func OverRuns(values [][]float64) Estimate {
	byRun, byCase := marginMeans(values)
	e := Estimate{Interval: metric.Interval{Mean: metric.Mean(byCase), N: len(byCase)}, P: math.NaN(), Effect: Effect(byCase), Runs: len(byRun)}
	if e.Runs < LeastRuns || len(byCase) < 2 {
		return e
	}
	overRuns := square(metric.Deviation(byRun))/float64(e.Runs) + max(0, shared(values))
	overCases := square(metric.Deviation(byCase)) / float64(e.N)
	if spread, degrees := math.Sqrt(max(overRuns, overCases)), float64(min(e.Runs, e.N)-1); spread > 0 {
		half := metric.StudentQuantile(.975, degrees) * spread
		e.P, e.Low, e.High = StudentTest(e.Mean/spread, degrees), new(e.Mean-half), new(e.Mean+half)
	}
	return e
}

// shared is the mean covariance of the means of two runs, by the cases that both have; 0 for runs
// without cases in common.
func shared(values [][]float64) (mean float64) {
	pairs := 0.
	for i, a := range values {
		for _, b := range values[:i] {
			var n, x, y, xy, ofA, ofB float64
			for at, v := range a {
				w := b[at]
				if !math.IsNaN(v) {
					ofA++
				}
				if !math.IsNaN(w) {
					ofB++
				}
				if !math.IsNaN(v + w) {
					n, x, y, xy = n+1, x+v, y+w, xy+v*w
				}
			}
			if ofA*ofB > 0 {
				pairs++
			}
			if n > 1 {
				mean += (xy - x*y/n) / (n - 1) * n / (ofA * ofB)
			}
		}
	}
	return mean / pairs
}

// marginMeans are the means of each run and of each case that have values.
func marginMeans(values [][]float64) (byRun, byCase []float64) {
	var cases [][]float64
	for _, run := range values {
		for len(cases) < len(run) {
			cases = append(cases, nil)
		}
		for i, v := range run {
			if !math.IsNaN(v) {
				cases[i] = append(cases[i], v)
			}
		}
		byRun = append(byRun, metric.Mean(slices.DeleteFunc(slices.Clone(run), math.IsNaN)))
	}
	for _, all := range cases {
		byCase = append(byCase, metric.Mean(all))
	}
	return slices.DeleteFunc(byRun, math.IsNaN), slices.DeleteFunc(byCase, math.IsNaN)
}

func square(x float64) float64 { return x * x }
