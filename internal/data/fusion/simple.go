package fusion

import "fmt"

// Majority is 1 where more than half of the raters marked the pixel. A tie is outside.
func Majority(marks [][]uint8) *Fit {
	most := MeanVote(marks).Map
	for i, share := range most {
		most[i] = 0
		if share > .5 {
			most[i] = 1
		}
	}
	return &Fit{Map: most, Raters: rates(marks, most), Converged: true}
}

// Likely is MrPrism's fusion: at each pixel the raters' marks, weighed by the probability of the
// mark under a network's estimate of what that rater draws (H·W, by rater). It is the softmax of
// the log-probabilities (PAPER.md §3.3). A probability counts as 1e-3 at least and as 1 − 1e-3 at
// most.
func Likely(marks [][]uint8, estimates [][]float32) *Fit {
	return weighed(marks, estimates, func(p float32, mark uint8) float64 {
		if mark == 0 {
			return 1 - believed(p)
		}
		return believed(p)
	})
}

// Trusted is the fusion of Diag (Wu et al. 2022): at each pixel the raters' marks, weighed as a
// network trusts each rater there. Its maps (H·W, by rater) say it by the odds: a weight is
// p / (1 − p). A probability counts as 1e-6 at least and as 1 − 1e-6 at most.
func Trusted(marks [][]uint8, trust [][]float32) *Fit {
	return weighed(marks, trust, func(p float32, _ uint8) float64 {
		q := min(max(float64(p), 1e-6), 1-1e-6)
		return q / (1 - q)
	})
}

// weighed is the mean of the marks at each pixel, under weights of the pixel's value in a map of
// each rater (H·W) and of his mark.
func weighed(marks [][]uint8, maps [][]float32, weight func(p float32, mark uint8) float64) *Fit {
	if len(marks) != len(maps) {
		panic(fmt.Sprintf("fusion: marks of %d raters, maps of %d", len(marks), len(maps)))
	}
	_, n := given(marks)
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
	return &Fit{Map: fused, Raters: rates(marks, fused), Converged: true}
}
