package metric

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Bootstrap is the mean of the values, one a case, with the 95 % interval of the studentised
// bootstrap (Efron & Tibshirani 1993, section 12.5), which is never narrower than Student's t.
// Scores such as Dice are skewed and few: at 10 to 34 cases such intervals hold the true mean in 92
// to 97 %, where percentiles of the means hold it in 86 to 93 % (cmd/study/tables, TestIntervalsHold).
// Where one case in twenty fails they hold it in 65 % at 10 cases, and in 86 % at 34.
// The seed determines the interval; 2,000 resamples are plenty. Without resamples, and for fewer
// than two values, there is no interval. Without values the mean is NaN.
func Bootstrap(values []float64, resamples int, seed uint64) Interval {
	return BootstrapAll([][]float64{values}, resamples, seed)[0]
}

// BootstrapAll is Bootstrap of every column of values, with the same bits. Columns of equal length
// share resamples, and each resample is drawn once for all of them, on all processors.
func BootstrapAll(columns [][]float64, resamples int, seed uint64) (all []Interval) {
	all = make([]Interval, len(columns))
	byLength := map[int][]int{}
	for i, values := range columns {
		if len(values) < 2 || resamples < 1 {
			all[i] = Interval{Mean: Mean(values), N: len(values)}
			continue
		}
		byLength[len(values)] = append(byLength[len(values)], i)
	}
	var wait sync.WaitGroup
	for n, equal := range byLength {
		each := (len(equal) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
		for few := range slices.Chunk(equal, each) {
			wait.Go(func() { bootstrap(columns, few, n, resamples, seed, all) })
		}
	}
	wait.Wait()
	return all
}

// bootstrap fills the intervals of the named columns, which have n values each.
func bootstrap(columns [][]float64, named []int, n, resamples int, seed uint64, all []Interval) {
	rng := rand.New(rand.NewPCG(seed, 0))
	draws := make([]int32, n)
	means, spreads, statistics := make([]float64, len(named)), make([]float64, len(named)), make([][]float64, len(named))
	for i, at := range named {
		means[i], spreads[i] = Mean(columns[at]), Deviation(columns[at])
	}
	for range resamples {
		for i := range draws {
			draws[i] = int32(rng.IntN(n))
		}
		for i, at := range named {
			values, sum, squares := columns[at], 0., 0.
			for _, draw := range draws {
				d := values[draw] - means[i]
				sum += d
				squares += d * d
			}
			mean := sum / float64(n)
			spread := math.Sqrt(max(0, squares-mean*sum) / float64(n-1))
			if spread > spreads[i]*1e-6 { // a resample of one value says nothing
				statistics[i] = append(statistics[i], mean/spread)
			}
		}
	}
	for i, at := range named {
		low, high := studentised(means[i], spreads[i], statistics[i], n)
		all[at] = Interval{means[i], &low, &high, n}
	}
}

// studentised is the interval around a mean of n values, from the statistics of resamples: their
// mean less this one, over their deviation.
func studentised(mean, spread float64, statistics []float64, n int) (low, high float64) {
	t := StudentQuantile(.975, float64(n-1)) / math.Sqrt(float64(n))
	below, above := -t, t
	if len(statistics) > 0 {
		slices.Sort(statistics)
		below, above = min(below, Quantile(statistics, .025)), max(above, Quantile(statistics, .975))
	}
	return mean - above*spread, mean - below*spread
}
