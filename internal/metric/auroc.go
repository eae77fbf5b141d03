package metric

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// AUROC is the area under the receiver operating characteristic, 0..1: the share of all pairs of a
// positive and a negative in which the positive has the higher score. Equal scores count one half
// (Mann and Whitney 1947). An infinite score is above all finite ones. NaN without positives or
// without negatives.
func AUROC(positives, negatives []float64) float64 {
	for _, score := range slices.Concat(positives, negatives) {
		if math.IsNaN(score) {
			panic(fmt.Sprintf("metric: AUROC: score %v", score))
		}
	}
	sorted := slices.Sorted(slices.Values(negatives))
	won := 0.
	for _, score := range positives {
		below := sort.SearchFloat64s(sorted, score)
		upTo := sort.Search(len(sorted), func(i int) bool { return sorted[i] > score })
		won += float64(below) + float64(upTo-below)/2
	}
	return won / (float64(len(positives)) * float64(len(negatives)))
}
