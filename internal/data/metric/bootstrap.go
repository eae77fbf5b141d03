package metric

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// BootstrapAll is Bootstrap of every column of values, with the same bits. Columns of equal length
// share resamples, and each resample is drawn once for all of them, on all processors.
func BootstrapAll(columns [][]float64, resamples int, seed uint64) (all []Interval) {
	all = make([]Interval, len(columns))
	byLength := map[int][]int{}
	for i, values := range columns {
		if len(values) < 2 || resamples < 1 {
			all[i] = Bootstrap(values, resamples, seed)
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
	means, draws := make([][]float64, len(named)), make([]int32, n)
	for i := range means {
		means[i] = make([]float64, resamples)
	}
	for r := range resamples {
		for i := range draws {
			draws[i] = int32(rng.IntN(n))
		}
		for i, at := range named {
			values, sum := columns[at], 0.
			for _, draw := range draws {
				sum += values[draw]
			}
			means[i][r] = sum / float64(n)
		}
	}
	for i, at := range named {
		slices.Sort(means[i])
		low, high := quantile(means[i], .025), quantile(means[i], .975)
		all[at] = Interval{Mean(columns[at]), &low, &high}
	}
}
