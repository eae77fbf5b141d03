package compare

import (
	"math"
	"slices"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// batch computes the intervals over one run at once, since they share resamples.
type batch struct {
	columns [][]float64
	to      []*metric.Interval
	ranges  [][2]float64
}

// add returns the mean of values by run and unit; nil without values. If there is one run, its
// interval comes with run.
func (b *batch) add(values [][]float64, least, most float64) (e *metrics.Estimate) {
	if len(values) > 1 {
		e = new(metrics.OverRuns(values))
		e.Interval = e.Within(least, most)
	} else {
		units := statistics.Values(values[0], func(v float64) float64 { return v })
		e = &metrics.Estimate{Interval: metric.Interval{Mean: metric.Mean(units), N: len(units)}, P: math.NaN(), Effect: metrics.Effect(units), Runs: 1}
		b.columns, b.to, b.ranges = append(b.columns, units), append(b.to, &e.Interval), append(b.ranges, [2]float64{least, most})
	}
	if e.N == 0 {
		return nil
	}
	return e
}

func (b *batch) run() {
	for i, interval := range metric.BootstrapAll(b.columns, statistics.Resamples, statistics.Seed) {
		*b.to[i] = interval.Within(b.ranges[i][0], b.ranges[i][1])
	}
}

// byUnit are values of each run and unit: means over the unit's images. They are NaN where no image
// has one.
func (c *Comparer) byUnit(images []*Image, runs int, of func(one *Image, run int) float64) [][]float64 {
	return statistics.Tabulate(runs, func(run int) []float64 {
		values, counts := make([]float64, 1+len(c.cases)), make([]float64, 1+len(c.cases))
		for _, one := range images {
			if v := of(one, run); !math.IsNaN(v) {
				values[one.Unit] += v
				counts[one.Unit]++
			}
		}
		for unit := range values {
			values[unit] /= counts[unit]
		}
		return values
	})
}

// lead is the differences of the method with the best mean of a figure from every other.
type lead struct {
	figure, method string
	differences    []*metrics.Estimate
}

// compareFigure compares the methods by a figure of the last pass, in the images that all have:
// each with the first one, and the best mean with all others. Images in which one of the two has no
// figure do not count.
func (c *Comparer) compareFigure(b *batch, out *classComparison, paired []*Image, k, f int, about score.Figure) {
	_, most := about.Range()
	less := func(one, other methodSummary) *metrics.Estimate {
		fewer, runs := min(one.Runs, other.Runs), min(one.Runs, other.Runs)
		if fewer == 1 { // the only run stands beside each run of the other
			runs = max(one.Runs, other.Runs)
		}
		e := b.add(c.byUnit(paired, runs, func(image *Image, run int) float64 {
			value := func(s methodSummary) float64 { return image.Rows[s.group.runs[min(run, s.Runs-1)]][k].Last()[f] }
			return value(one) - value(other)
		}), -most, most)
		if e != nil && fewer == 1 {
			e.Runs, e.P = 1, math.NaN()
		}
		return e
	}
	best := out.Methods[0]
	for i, m := range out.Methods {
		if m.better(best, about) {
			best = m
		}
		if i == 0 {
			continue
		}
		if e := less(m, out.Methods[0]); e != nil {
			out.Tests = append(out.Tests, pairedTest{Method: m.Method, Against: out.Methods[0].Method, Figure: about.Key, Difference: e, Effect: statistics.Defined(e.Effect), P: statistics.Defined(e.P)})
		}
	}
	l := lead{figure: about.Key, method: best.Method}
	for _, m := range out.Methods {
		if m.index == best.index {
			continue
		}
		if e := less(best, m); e != nil {
			l.differences = append(l.differences, e)
		}
	}
	if len(l.differences) > 0 {
		out.leads = append(out.leads, l)
	}
}

// lead names the best method of each figure, once the intervals of differences are known. One run
// leads no other: it is a network, and no method.
func (c *classComparison) lead() {
	c.Best = map[string]string{}
	for _, l := range c.leads {
		if !slices.ContainsFunc(l.differences, func(e *metrics.Estimate) bool { return e.Runs == 1 || !e.Clear() }) {
			c.Best[l.figure] = l.method
		}
	}
}

// better says whether the method has the figure, and the other has it not or has a worse mean.
func (m methodSummary) better(other methodSummary, f score.Figure) bool {
	a, b := m.last()[f.Key], other.last()[f.Key]
	return a != nil && (b == nil || f.Lower && a.Mean < b.Mean || !f.Lower && a.Mean > b.Mean)
}

// adjust corrects the p-values by Holm. A family is all tests of a figure.
func (r *Comparison) adjust() {
	for _, about := range score.Figures {
		var family []*pairedTest
		for i := range r.Classes {
			for j := range r.Classes[i].Tests {
				if t := &r.Classes[i].Tests[j]; t.Figure == about.Key && t.P != nil {
					family = append(family, t)
				}
			}
		}
		for i, adjusted := range metrics.Holm(statistics.Tabulate(len(family), func(i int) float64 { return *family[i].P })) {
			family[i].Holm = &adjusted
		}
	}
}
