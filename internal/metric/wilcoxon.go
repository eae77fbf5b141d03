package metric

import (
	"math"
	"slices"
)

// mostExact is the number of differences up to which Wilcoxon counts all signs.
const mostExact = 100

// Wilcoxon is the two-sided p-value of the signed-rank test that paired differences lie around 0: exact, given the ties, for up to 100 of them, by the
// normal approximation beyond. Differences of 0 are left out; 1 where no other is.
func Wilcoxon(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	if len(d) == 0 {
		return 1
	}
	sizes := make([]float64, len(d))
	for i, v := range d {
		sizes[i] = math.Abs(v)
	}
	// Ranks count from 1, twice as large, so that those of ties are whole.
	twice, total, positive := make([]int, len(d)), 0, 0
	squares := 0.
	for i, r := range ranks(sizes) {
		twice[i] = int(2*r) + 2
		total += twice[i]
		squares += float64(twice[i] * twice[i])
		if d[i] > 0 {
			positive += twice[i]
		}
	}
	less := min(positive, total-positive)
	if len(d) > mostExact {
		z := (float64(less) - float64(total)/2 + 1) / math.Sqrt(squares/4) // one half of a rank toward the middle
		return min(1, math.Erfc(-z/math.Sqrt2))
	}
	// ways[s] is the share of all choices of signs with a sum of positive ranks s.
	ways := make([]float64, total+1)
	ways[0] = 1
	for _, r := range twice {
		for s := total; s >= 0; s-- {
			ways[s] /= 2
			if s >= r {
				ways[s] += ways[s-r] / 2
			}
		}
	}
	p := 0.
	for s := range less + 1 {
		p += ways[s]
	}
	return min(1, 2*p)
}
