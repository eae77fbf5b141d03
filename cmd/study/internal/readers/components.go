package readers

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Components are the variances of the model of Obuchowski and Rockette (1995) for the figures of
// readers in modalities, and of what they were estimated. Estimates may lie below 0 (Hillis 2014).
type Components struct {
	Reader         float64 `json:"reader"`         // of readers
	ReaderModality float64 `json:"readerModality"` // of reader × modality; 0 of one modality
	Var            float64 `json:"var"`            // of a figure's error, by the choice of patients
	Cov1           float64 `json:"cov1"`           // of errors of a reader in two modalities
	Cov2           float64 `json:"cov2"`           // of errors of two readers in a modality
	Cov3           float64 `json:"cov3"`           // of errors of two readers in two modalities
	Readers        int     `json:"readers"`
	Cases          int     `json:"cases"` // independent ones: patients
	Modalities     int     `json:"modalities"`
}

// Estimate is a mean or a difference with its 95 % interval, and the test of the difference.
// Without spread there is no interval.
type Estimate struct {
	Reader   string `json:"reader"`   // empty: all
	View     string `json:"view"`     // one of Views
	Modality string `json:"modality"` // or Difference
	metric.Interval
	Error   float64  `json:"standardError"`
	Degrees *float64 `json:"degreesOfFreedom"` // of t, and of the denominator of F; null: normal
	F       *float64 `json:"f,omitempty"`      // with one degree of freedom above
	P       *float64 `json:"p,omitempty"`
}

// Views say for whom an estimate holds: for other readers and patients, for these readers and other
// patients, or for other readers and these patients. One reader has the second alone.
var Views = []string{"random readers and cases", "fixed readers", "fixed cases"}

// Difference is what is with the model less what is without.
const Difference = "with − without"

// figure is a reader's in a modality, with its values without each patient.
type figure struct {
	whole   float64
	without []float64
}

// grid has figures by modality and reader.
type grid [][]figure

// components estimates the variances. Those of errors are by the jackknife over patients, as means
// over figures or pairs of them. square is the mean square of the test: MS(R) of one modality, or
// MS(T×R) of two.
func (g grid) components() (c Components, square float64) {
	var sums, pairs [2][2]float64
	same := map[bool]int{true: 1}
	for m, row := range g {
		for j, x := range row {
			for n, others := range g {
				for k, y := range others {
					sums[same[m == n]][same[j == k]] += stat.Covariance(x.without, y.without, nil)
					pairs[same[m == n]][same[j == k]]++
				}
			}
		}
	}
	c = Components{Readers: len(g[0]), Cases: len(g[0][0].without), Modalities: len(g)}
	mean := func(modality, reader int) float64 {
		n := float64(c.Cases)
		return (n - 1) * (n - 1) / n * sums[modality][reader] / max(1, pairs[modality][reader])
	}
	c.Var, c.Cov1, c.Cov2, c.Cov3 = mean(1, 1), mean(0, 1), mean(1, 0), mean(0, 0)
	spread := func(sign float64) float64 { // of the readers' last figure and their first one
		return stat.Variance(statistics.Tabulate(c.Readers, func(j int) float64 { return g[len(g)-1][j].whole + sign*g[0][j].whole }), nil)
	}
	switch {
	case c.Readers == 1:
	case c.Modalities == 1:
		square = spread(0)
		c.Reader = square - c.Var + c.Cov2
	default:
		square = spread(-1) / 2
		c.Reader, c.ReaderModality = (spread(1)/2-square)/2-c.Cov1+c.Cov3, square-c.Var+c.Cov1+max(0, c.Cov2-c.Cov3)
	}
	return c, square
}

// estimates are the views of one modality's mean, or of the difference of two, with the degrees of
// freedom of Hillis (2007). Figures lie between 0 and most.
func (g grid) estimates(most float64) []Estimate {
	c, square := g.components()
	mean := func(m int) float64 {
		return metric.Mean(statistics.Tabulate(c.Readers, func(j int) float64 { return g[m][j].whole }))
	}
	j, whole, least, times, own, shared := float64(c.Readers), mean(0), 0., 1., c.Var, max(0, c.Cov2)
	if c.Modalities == 2 {
		whole, least, times, own, shared = mean(1)-whole, -most, 2, c.Var-c.Cov1, max(0, c.Cov2-c.Cov3)
	}
	estimate := func(view int, variance, degrees float64) Estimate {
		e := Estimate{View: Views[view], Interval: metric.Interval{Mean: whole}}
		if variance <= 1e-12*c.Var { // rounding
			return e
		}
		e.Error = math.Sqrt(times * variance / j)
		half, p := 1.959963984540054*e.Error, math.Erfc(math.Abs(whole)/e.Error/math.Sqrt2)
		if degrees < 1e8 {
			half, p, e.Degrees = metric.StudentQuantile(.975, degrees)*e.Error, metrics.StudentTest(whole/e.Error, degrees), &degrees
		}
		if e.Low, e.High = new(max(least, whole-half)), new(min(most, whole+half)); c.Modalities == 2 {
			e.F, e.P = new(math.Pow(whole/e.Error, 2)), &p
		}
		return e
	}
	if j == 1 {
		return []Estimate{estimate(1, own, math.Inf(1))}
	}
	random := square + j*shared
	return []Estimate{estimate(0, random, (j-1)*math.Pow(random/square, 2)), estimate(1, own+(j-1)*shared, math.Inf(1)), estimate(2, square, j-1)}
}
