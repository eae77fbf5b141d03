package metrics

import (
	"cmp"
	"slices"
)

// Holm adjusts the p-values of a family of tests (Holm 1979): the i-th smallest of m, from 0, is
// multiplied by m − i. An adjusted p is at most 1, and at least that of every smaller p. Rejecting
// at adjusted p ≤ α keeps the probability of any false rejection in the family at α or less.
func Holm(p []float64) (adjusted []float64) {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, least := make([]float64, len(p)), 0.
	for i, at := range order {
		least = max(least, min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = least
	}
	return adjusted
}
