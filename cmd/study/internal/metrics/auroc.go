package metrics

import (
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/metric"
)

// AUROC is the area under the receiver operating characteristic, 0..1: the share of all pairs of a
// positive and a negative in which the positive has the higher score. Equal scores count one half
// (Mann and Whitney 1947). An infinite score is above all finite ones. AUROC is NaN without
// positives or without negatives. Its 95 % interval is DeLong's (1988) on the logit scale, for
// which both are samples; there is none for areas of 0 and 1.
func AUROC(positives, negatives []float64) metric.Interval {
	for _, score := range slices.Concat(positives, negatives) {
		if math.IsNaN(score) {
			panic(fmt.Sprintf("metrics: AUROC: score %v", score))
		}
	}
	above, below := shareBelow(positives, negatives), shareBelow(negatives, positives)
	area := metric.Interval{Mean: metric.Mean(above), N: len(positives) + len(negatives)}
	if len(negatives) == 0 {
		area.Mean = math.NaN()
	}
	spread := square(metric.Deviation(above))/float64(len(above)) + square(metric.Deviation(below))/float64(len(below))
	if half := 1.959963984540054 * math.Sqrt(spread) / (area.Mean * (1 - area.Mean)); half < math.Inf(1) {
		odds := area.Mean / (1 - area.Mean)
		area.Low, area.High = new(1/(1+math.Exp(half)/odds)), new(1/(1+math.Exp(-half)/odds))
	}
	return area
}

// shareBelow is the share of others that lies below each score; equal ones count one half.
func shareBelow(scores, others []float64) (shares []float64) {
	sorted := slices.Sorted(slices.Values(others))
	for _, score := range scores {
		first, after := equals(sorted, score)
		shares = append(shares, float64(first+after)/2/float64(len(others)))
	}
	return shares
}
