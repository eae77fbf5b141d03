package metric

import (
	"math"
	"slices"
)

// FleissKappa is the agreement of raters about pixels beyond chance (Fleiss 1971): over the pixels where within (H, W) is 1, or over all where it is
// nil. 1 where all marked the same, some of these pixels and not others. NaN for fewer than two raters, for no pixels, and where all marked all of
// these pixels or none, since chance agrees as well then: so inside the union of their marks it is not defined for raters who marked the same.
func FleissKappa(v Votes, within []uint8) float64 {
	n, pixels, marks, agreed := float64(v.Raters), 0., 0., 0.
	for i, c := range v.Count {
		if within != nil && within[i] == 0 {
			continue
		}
		in, out := float64(c), n-float64(c)
		pixels++
		marks += in
		agreed += (in*(in-1) + out*(out-1)) / (n * (n - 1))
	}
	share := marks / (n * pixels)
	chance := share*share + (1-share)*(1-share)
	if v.Raters < 2 || chance == 1 {
		return math.NaN()
	}
	return (agreed/pixels - chance) / (1 - chance)
}

// ICC is the intraclass correlation ICC(2,1) of Shrout and Fleiss (1979): two-way random effects, absolute agreement, a single rater. values has a row
// a case and a column a rater. NaN for fewer than two of either, and where no value differs from another.
func ICC(values [][]float64) float64 {
	n := len(values)
	if n < 2 || len(values[0]) < 2 {
		return math.NaN()
	}
	if all := slices.Concat(values...); slices.Min(all) == slices.Max(all) { // where sums are rounded they might say that something does
		return math.NaN()
	}
	k := len(values[0])
	columns, grand := make([]float64, k), 0.
	for _, row := range values {
		for j, v := range row {
			columns[j] += v / float64(n)
			grand += v / float64(n*k)
		}
	}
	rows, between, all := 0., 0., 0.
	for _, row := range values {
		mean := Mean(row)
		rows += float64(k) * (mean - grand) * (mean - grand)
		for _, v := range row {
			all += (v - grand) * (v - grand)
		}
	}
	for _, c := range columns {
		between += float64(n) * (c - grand) * (c - grand)
	}
	msr, msc := rows/float64(n-1), between/float64(k-1)
	mse := (all - rows - between) / float64((n-1)*(k-1))
	whole := msr + float64(k-1)*mse + float64(k)*(msc-mse)/float64(n)
	if whole == 0 { // two raters who exchange their values between two cases
		return math.NaN()
	}
	return (msr - mse) / whole
}
