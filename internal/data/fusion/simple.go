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
	if len(marks) != len(estimates) {
		panic(fmt.Sprintf("fusion: Likely: marks of %d raters, estimates of %d", len(marks), len(estimates)))
	}
	_, n := given(marks)
	fused := make([]float64, n)
	for i := range fused {
		marked, all := 0., 0.
		for m, mark := range marks {
			if mark == nil {
				continue
			}
			p := believed(estimates[m][i])
			if mark[i] == 0 {
				all += 1 - p
				continue
			}
			marked, all = marked+p, all+p
		}
		fused[i] = marked / all
	}
	return &Fit{Map: fused, Raters: rates(marks, fused), Converged: true}
}
