package fuse

import (
	"fmt"

	"mrprism/internal/data/fusion"
)

// Likely is MrPrism's fusion: the mean of the raters' marks at each pixel. A mark weighs as much as
// the probability that the network's estimate (H·W) for that rater gives it: the softmax of
// log-probabilities (PAPER.md §3.3). Probabilities are clamped to 1e-3 … 1 − 1e-3.
func Likely(marks [][]uint8, estimates [][]float32) *fusion.Fit {
	return weighed(marks, estimates, func(p float32, mark uint8) float64 {
		if mark == 0 {
			return 1 - fusion.Believed(p)
		}
		return fusion.Believed(p)
	})
}

// Trusted is the fusion of Diag (Wu et al. 2022): the mean of the raters' marks at each pixel. A
// mark weighs as much as the network trusts the rater there: the odds p / (1 − p) of its map (H·W)
// for that rater. Probabilities are clamped to 1e-6 … 1 − 1e-6.
func Trusted(marks [][]uint8, trust [][]float32) *fusion.Fit {
	return weighed(marks, trust, func(p float32, _ uint8) float64 {
		q := min(max(float64(p), 1e-6), 1-1e-6)
		return q / (1 - q)
	})
}

// weighed is the mean of the marks at each pixel. A rater's weight depends on the value of his map
// (H·W) at the pixel and on his mark.
func weighed(marks [][]uint8, maps [][]float32, weight func(p float32, mark uint8) float64) *fusion.Fit {
	if len(marks) != len(maps) {
		panic(fmt.Sprintf("fuse: marks of %d raters, maps of %d", len(marks), len(maps)))
	}
	_, n := fusion.Present(marks)
	fused := make([]float64, n)
	for i := range fused {
		marked, all := 0., 0.
		for m, mark := range marks {
			if mark == nil {
				continue
			}
			w := weight(maps[m][i], mark[i])
			all += w
			if mark[i] != 0 {
				marked += w
			}
		}
		fused[i] = marked / all
	}
	return &fusion.Fit{Map: fused, Raters: fusion.RatesOf(marks, fused), Converged: true}
}
