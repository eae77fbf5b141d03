package readers

import (
	"math"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Components are the variances of the model of Obuchowski and Rockette (1995) for the figures of
// readers in modalities, and what they were estimated from. Estimates may lie below 0 (Hillis 2014).
type Components struct {
	Reader         float64 `json:"reader"`         // variance of readers
	ReaderModality float64 `json:"readerModality"` // of reader × modality; 0 of one modality
	Var            float64 `json:"var"`            // of the error of a figure, by the choice of patients
	Cov1           float64 `json:"cov1"`           // of errors of a reader in two modalities
	Cov2           float64 `json:"cov2"`           // of errors of two readers in a modality
	Cov3           float64 `json:"cov3"`           // of errors of two readers in two modalities
	Readers        int     `json:"readers"`
	Cases          int     `json:"cases"` // independent ones: patients
	Modalities     int     `json:"modalities"`
}

// Test is a mean or a difference with its 95 % interval. Without spread there is no interval.
type Test struct {
	metric.Interval
	Error   float64  `json:"standardError"`
	Degrees *float64 `json:"degreesOfFreedom"` // of t, and of the denominator of F; null: normal
	F       *float64 `json:"f,omitempty"`      // of a difference, with one degree of freedom above
	P       *float64 `json:"p,omitempty"`      // of a difference of 0
}

// Views are an estimate for other readers and other cases, for these readers and other cases, and
// for other readers and these cases. With one reader there are only these readers.
type Views struct {
	Random       *Test `json:"randomReadersAndCases"`
	FixedReaders *Test `json:"fixedReaders"`
	FixedCases   *Test `json:"fixedCases"`
}

// jackknifed are the figures by modality and reader, with their values without each patient.
type jackknifed struct {
	figures [][]float64   // by modality and reader
	without [][][]float64 // by modality, reader and patient
}

// errors are the variance and the covariances of the figures' errors, as means over the figures and
// over their pairs (Hillis et al. 2005). Those without a pair are 0.
func (d jackknifed) errors() (c Components) {
	sums, counts := map[[2]bool]float64{}, map[[2]bool]float64{}
	for m, ofModality := range d.without {
		for j, x := range ofModality {
			for n, others := range d.without {
				for k, y := range others {
					pair := [2]bool{m == n, j == k}
					sums[pair] += covariance(x, y)
					counts[pair]++
				}
			}
		}
	}
	mean := func(sameModality, sameReader bool) float64 {
		pair := [2]bool{sameModality, sameReader}
		return sums[pair] / max(1, counts[pair])
	}
	c.Var, c.Cov1, c.Cov2, c.Cov3 = mean(true, true), mean(false, true), mean(true, false), mean(false, false)
	c.Modalities, c.Readers, c.Cases = len(d.without), len(d.without[0]), len(d.without[0][0])
	return c
}

// covariance is the jackknife's of two figures.
func covariance(x, y []float64) (sum float64) {
	meanX, meanY, n := metric.Mean(x), metric.Mean(y), float64(len(x))
	for i := range x {
		sum += (x[i] - meanX) * (y[i] - meanY)
	}
	return sum * (n - 1) / n
}

// only are the figures of one modality, or of one reader; −1: of all.
func (d jackknifed) only(modality, reader int) (out jackknifed) {
	for m, figures := range d.figures {
		if modality >= 0 && m != modality {
			continue
		}
		without := d.without[m]
		if reader >= 0 {
			figures, without = figures[reader:reader+1], without[reader:reader+1]
		}
		out.figures, out.without = append(out.figures, figures), append(out.without, without)
	}
	return out
}

// components estimates all variances, and the mean square on which the test of the only modality's
// mean or of the difference of two rests: MS(R) or MS(T×R).
func (d jackknifed) components() (c Components, square float64) {
	c = d.errors()
	if c.Readers < 2 {
		return c, 0
	}
	spread := func(of func(j int) float64) float64 {
		s := metric.Deviation(statistics.Tabulate(c.Readers, of))
		return s * s
	}
	if c.Modalities == 1 {
		square = spread(func(j int) float64 { return d.figures[0][j] })
		c.Reader = square - c.Var + c.Cov2
		return c, square
	}
	square = spread(func(j int) float64 { return d.figures[1][j] - d.figures[0][j] }) / 2
	c.Reader = (2*spread(func(j int) float64 { return (d.figures[0][j] + d.figures[1][j]) / 2 })-square)/2 - c.Cov1 + c.Cov3
	c.ReaderModality = square - c.Var + c.Cov1 + max(0, c.Cov2-c.Cov3)
	return c, square
}

// views are the estimate of one modality's mean, or of the difference of two, with Hillis's degrees
// of freedom (2007; of one modality: ddf_H_single). Means of figures lie between two values.
func (d jackknifed) views(least, most float64) (v Views, c Components) {
	c, square := d.components()
	j, times, own, shared := float64(c.Readers), 1., c.Var, max(0, c.Cov2)
	mean := metric.Mean(d.figures[0])
	if c.Modalities == 2 {
		times, own, shared = 2, c.Var-c.Cov1, max(0, c.Cov2-c.Cov3)
		mean, least = metric.Mean(d.figures[1])-mean, -most
	}
	test := func(variance, degrees float64) *Test {
		t := tested(mean, times*variance/j, degrees)
		if t.Interval = t.Within(least, most); c.Modalities == 1 {
			t.F, t.P = nil, nil
		}
		return t
	}
	v.FixedReaders = test(own+(j-1)*shared, math.Inf(1))
	if c.Readers > 1 {
		whole := square + j*shared
		v.Random, v.FixedCases = test(whole, (j-1)*(whole/square)*(whole/square)), test(square, j-1)
	}
	return v, c
}

// tested is an estimate with Student's t interval, or the normal one for infinitely many degrees.
func tested(mean, variance, degrees float64) *Test {
	t := &Test{Interval: metric.Interval{Mean: mean}, Error: math.Sqrt(max(0, variance))}
	if t.Error == 0 || math.IsNaN(t.Error) {
		return t
	}
	z := mean / t.Error
	quantile, p := 1.959963984540054, math.Erfc(math.Abs(z)/math.Sqrt2)
	if !math.IsInf(degrees, 1) {
		t.Degrees = &degrees
		quantile, p = metric.StudentQuantile(.975, degrees), metrics.StudentTest(z, degrees)
	}
	t.Low, t.High, t.F, t.P = new(mean-quantile*t.Error), new(mean+quantile*t.Error), new(z*z), &p
	return t
}
