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

// Estimate is a mean over runs and cases, of which there are N.
type Estimate struct {
	metric.Interval
	P      float64 `json:"-"` // of the mean being 0; NaN for one run, or one case
	Effect float64 `json:"-"` // of the cases' means
	Runs   int     `json:"runs"`
	Cases  int     `json:"-"`
}

// OverRuns is the mean of what several runs of a method, or of two, give on several cases:
// values[run][case], where NaN stands for a case that a run has not. Both runs and cases are a
// sample: another run, and other cases, would give another mean. The variance is the sum of that of
// the runs' means and of that of the cases' means, each over their number; degrees of freedom are
// Satterthwaite's (1946), and 1 for two runs, whose variance is a guess. What is left to each run
// and case alone counts in both, so that the interval is rather too wide. Of two methods that
// differ by their runs alone, at most 6 % differ at p < 0.05 (cmd/study/tables,
// TestSeedsAloneDifferSeldom). With one run nothing is known of others: the interval is Bootstrap's
// over the cases.
func OverRuns(values [][]float64) Estimate {
	byRun, byCase := marginMeans(values)
	e := Estimate{P: math.NaN(), Effect: Effect(byCase), Runs: len(byRun), Cases: len(byCase)}
	if e.Runs < 2 || len(byCase) < 2 {
		e.Interval = metric.Bootstrap(byCase, 2000, 1)
		return e
	}
	mean := metric.Mean(byCase)
	ofRuns, ofCases := square(metric.Deviation(byRun))/float64(e.Runs), square(metric.Deviation(byCase))/float64(len(byCase))
	half := 0.
	switch variance := ofRuns + ofCases; {
	case variance > 0:
		degrees := square(variance) / (square(ofRuns)/float64(e.Runs-1) + square(ofCases)/float64(len(byCase)-1))
		if e.Runs == 2 {
			degrees = 1
		}
		half = metric.StudentQuantile(.975, degrees) * math.Sqrt(variance)
		e.P = StudentTest(mean/math.Sqrt(variance), degrees)
	case mean == 0: // equal everywhere
		e.P = 1
	default:
		e.P = 0
	}
	e.Interval = metric.Interval{Mean: mean, Low: new(mean - half), High: new(mean + half), N: len(byCase)}
	return e
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
