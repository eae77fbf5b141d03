package metric

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// ICC is the intraclass correlation ICC(2,1) of Shrout and Fleiss (1979): two-way random effects,
// absolute agreement, a single rater. values has a row for each case and a column for each rater.
// ICC is NaN for fewer than two cases or raters, and if all values are equal. Its 95 % interval is
// that of McGraw and Wong (1996), for normal values; it is missing if no rater errs. The cases are
// of so many units, such as patients: no more than these are independent.
func ICC(values [][]float64, units int) Interval {
	n := len(values)
	none := Interval{Mean: math.NaN(), N: units}
	if n < 2 || len(values[0]) < 2 {
		return none
	}
	// The sums below are rounded, and could differ for equal values.
	if all := slices.Concat(values...); slices.Min(all) == slices.Max(all) {
		return none
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
			all += square(v - grand)
		}
	}
	for _, c := range columns {
		between += float64(n) * (c - grand) * (c - grand)
	}
	msr, msc := rows/float64(n-1), between/float64(k-1)
	mse := (all - rows - between) / float64((n-1)*(k-1))
	whole := msr + float64(k-1)*mse + float64(k)*(msc-mse)/float64(n)
	if whole == 0 { // two raters who exchange their values between two cases
		return none
	}
	icc := Interval{Mean: (msr - mse) / whole, N: units}
	// The errors' mean square, a·MSC + b·MSE, has about v degrees of freedom (Satterthwaite 1946).
	a := float64(k) * icc.Mean / (float64(n) * (1 - icc.Mean))
	b := 1 + a*float64(n-1)
	v := square(a*msc+b*mse) / (square(a*msc)/float64(k-1) + square(b*mse)/float64((units-1)*(k-1)))
	if mse <= 0 || !(v > 0) {
		return icc
	}
	up, down := fisherQuantile(.975, float64(units-1), v), fisherQuantile(.975, v, float64(units-1))
	raters := float64(k)*msc + float64(k*n-k-n)*mse
	icc.Low = new(float64(n) * (msr - up*mse) / (up*raters + float64(n)*msr))
	icc.High = new(float64(n) * (down*msr - mse) / (raters + float64(n)*down*msr))
	return icc
}

// fisherQuantile is what an F-distributed variable stays below with probability p.
func fisherQuantile(p, above, below float64) float64 {
	x := mathext.InvRegIncBeta(above/2, below/2, p)
	return below * x / (above * (1 - x))
}

// Coincidences gathers the marks of pixels of any number of images for Krippendorff's alpha (2011),
// of which each pixel may have other raters.
type Coincidences struct{ apart, marked, all float64 }

// Add takes an image. Pixels of one rater say nothing.
func (c *Coincidences) Add(t Tally) {
	raters := len(t) - 1
	if raters < 2 {
		return
	}
	for n, pixels := range t {
		in, out := float64(n), float64(raters-n)
		c.apart += 2 * in * out / float64(raters-1) * float64(pixels)
		c.marked += in * float64(pixels)
		c.all += float64(raters * pixels)
	}
}

// Merge adds what another has gathered.
func (c *Coincidences) Merge(other Coincidences) {
	c.apart, c.marked, c.all = c.apart+other.apart, c.marked+other.marked, c.all+other.all
}

// Alpha is Krippendorff's: 1 less the share of pairs of marks that differ over the share by chance.
// It is NaN if all marks are equal.
func (c Coincidences) Alpha() float64 {
	return 1 - c.apart*(c.all-1)/(2*c.marked*(c.all-c.marked))
}
