package plan

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/readers"
	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scipy.stats.ncf.cdf(x, above, below, noncentrality), SciPy 1.10.
func TestNoncentralF(t *testing.T) {
	for _, c := range [][5]float64{
		{3.5, 1, 7, 0, 0.896448289728541},
		{3.5, 1, 7, 4, 0.428801123173905},
		{4.2, 1, 2.5, 9.7, 0.170308109466683},
		{18.5, 1, 2, 30, 0.219864966177923},
		{3.9, 1, 250.5, 7.85, 0.204483182664508},
		{3.85, 1, 20000, 7.85, 0.200557664887676},
		{10, 3, 12, 5, 0.971734860300163},
		{50, 1, 30, 400, 3.13958098311827e-20},
		{900, 1, 80, 1500, 0.000428715547973057},
	} {
		assert.InDelta(t, c[4], noncentralF(c[0], c[1], c[2], c[3]), 1e-9, "%v", c)
	}
}

func TestStudent(t *testing.T) {
	for _, degrees := range []float64{1, 1.003, 1.5, 2, 2.3, 2.901, 3.3, 11.3, 100, 1e4} {
		assert.InDelta(t, metric.StudentQuantile(.975, degrees), student(degrees), 1e-4)
	}
	assert.InDelta(t, 1.959964, student(math.Inf(1)), 1e-4)
}

// effects are the variances of a case's value: by reader, reader × modality, case, modality × case,
// reader × case, and single readings.
type effects struct{ reader, own, of, twice, both, single float64 }

// total is the variance of a value.
func (e effects) total() float64 { return e.reader + e.own + e.of + e.twice + e.both + e.single }

// components are those of means over so many cases.
func (e effects) components(cases int) readers.Components {
	n := float64(cases)
	return readers.Components{
		Reader: e.reader, ReaderModality: e.own, Var: (e.of + e.twice + e.both + e.single) / n,
		Cov1: (e.of + e.both) / n, Cov2: (e.of + e.twice) / n, Cov3: e.of / n, Cases: cases, Modalities: 2,
	}
}

// values are normal, by modality, reader, and case. difference is that of the second modality.
func (e effects) values(rng *rand.Rand, units, cases int, difference float64) (v [2][][]float64) {
	normal := func(variance float64, n int) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = math.Sqrt(variance) * rng.NormFloat64()
		}
		return all
	}
	reader, of := normal(e.reader, units), normal(e.of, cases)
	both := normal(e.both, units*cases)
	for m := range v {
		own, twice := normal(e.own, units), normal(e.twice, cases)
		for j := range units {
			row := normal(e.single, cases)
			for i := range row {
				row[i] += float64(m)*difference + reader[j] + own[j] + of[i] + twice[i] + both[j*cases+i]
			}
			v[m] = append(v[m], row)
		}
	}
	return v
}

// world draws studies. figure turns a normal value into a reading. Truths of cases are by number.
type world struct {
	effects
	figure     func(value float64, of int) float64
	truth      func(of int) float64 // nil: a mean
	difference func(effect float64) float64
	normal     bool // components are known, and not estimated from pilots
}

// analysed is a study that readers.Analyse has seen as readings.csv.
func (w world) analysed(t *testing.T, rng *rand.Rand, units, cases int, effect float64) *readers.Analysis {
	t.Helper()
	var text strings.Builder
	text.WriteString("reader,case,modality,x\n")
	for m, row := range w.values(rng, units, cases, effect) {
		for j, values := range row {
			for i, v := range values {
				fmt.Fprintf(&text, "r%d,%d,%s,%.9g\n", j, i, []string{"without", "with"}[m], w.figure(v, i))
			}
		}
	}
	table, err := readers.Read("", strings.NewReader(text.String()))
	require.NoError(t, err)
	a, err := readers.Analyse(table, w.known(t, cases), "x")
	require.NoError(t, err)
	return a
}

// known is the truth of so many cases.
func (w world) known(t *testing.T, cases int) *readers.Table {
	t.Helper()
	if w.truth == nil {
		return nil
	}
	text := bytes.NewBufferString("case,x\n")
	for i := range cases {
		fmt.Fprintf(text, "%d,%g\n", i, w.truth(i))
	}
	table, err := readers.ReadTruth("", text)
	require.NoError(t, err)
	return table
}

// expected is the study that many pilots expect together.
func (w world) expected(t *testing.T, rng *rand.Rand, pilots int, effect float64) *Study {
	t.Helper()
	const cases = 120
	c := w.components(cases)
	if !w.normal {
		c = readers.Components{Cases: cases}
		for range pilots {
			one, n := w.analysed(t, rng, 12, cases, effect).Components, float64(pilots)
			c.ReaderModality, c.Var = c.ReaderModality+one.ReaderModality/n, c.Var+one.Var/n
			c.Cov1, c.Cov2, c.Cov3 = c.Cov1+one.Cov1/n, c.Cov2+one.Cov2/n, c.Cov3+one.Cov3/n
		}
	}
	s, err := study("x", "readers", c, 0)
	require.NoError(t, err)
	return s
}

// overall is the estimate of the difference for other readers and cases.
func overall(a *readers.Analysis) readers.Estimate {
	for _, e := range a.Estimates {
		if e.Reader == "" && e.View == readers.Views[0] && e.Modality == readers.Difference {
			return e
		}
	}
	panic("plan: no difference")
}

func share(truths, of int) float64 { return float64(truths) / float64(of) }

// held asserts that a share of draws is the promised one, or above it by more: within 3 points, and a
// test of fewer draws within 4 of their standard errors beyond these.
func held(t *testing.T, promise, found, more float64, draws int, about string) {
	t.Helper()
	slack := .03
	if draws < 2000 {
		slack += 4 * math.Sqrt(promise*(1-promise)/float64(draws))
	}
	t.Logf("%s: promised %.3f, found %.3f of %d", about, promise, found, draws)
	assert.GreaterOrEqual(t, found, promise-slack, about)
	assert.LessOrEqual(t, found, promise+slack+more, about)
}

// Of 2,000 studies that readers.Analyse sees, as many find the difference as the plan promises: means,
// errors, and areas under ROC curves (the model of Roe and Metz 1997). More find it where the spread
// of a figure falls with it: with very skewed errors, and with areas near 1 or few positives, the
// difference found and its interval grow together. -short draws 60.
func TestPowerOfReadingStudies(t *testing.T) {
	draws, pilots := 2000, 500
	if testing.Short() {
		draws, pilots = 60, 20
	}
	same := func(v float64, _ int) float64 { return v }
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	mean := func(e effects) world {
		return world{effects: e, figure: same, difference: func(effect float64) float64 { return effect }, normal: true}
	}
	folded := func(e effects) world { // the error is the absolute value of a normal one
		spread := math.Sqrt(e.total())
		absolute := func(m float64) float64 {
			return spread*math.Sqrt(2/math.Pi)*math.Exp(-m*m/2/e.total()) + m*math.Erf(m/spread/math.Sqrt2)
		}
		return world{
			effects: e, truth: func(of int) float64 { return .5 + float64(of) },
			figure:     func(v float64, of int) float64 { return .5 + float64(of) + .4 + v },
			difference: func(effect float64) float64 { return absolute(.4+effect) - absolute(.4) },
		}
	}
	skewed := func(e effects) world { // the error is log-normal
		return world{
			effects: e, truth: func(of int) float64 { return .5 + float64(of) },
			figure:     func(v float64, of int) float64 { return .5 + float64(of) + math.Exp(v) },
			difference: func(effect float64) float64 { return math.Exp(e.total()/2) * (math.Exp(effect) - 1) },
		}
	}
	area := func(e effects, apart float64, every int) world { // one case in so many is positive, and as far above 0 as others below
		spread := math.Sqrt(2*e.total() + 2*e.reader + 2*e.own)
		sign := func(of int) float64 { return 1 - 2*float64(min(1, of%every)) }
		return world{
			effects: e, truth: func(of int) float64 { return max(0, sign(of)) },
			figure:     func(v float64, of int) float64 { return sign(of) * (v + apart/2) },
			difference: func(effect float64) float64 { return phi((apart+2*effect)/spread) - phi(apart/spread) },
		}
	}
	mixed, steady, apart := effects{.3, .02, 1, .3, .3, 1}, effects{.01, .005, .3, 1, .2, 1}, effects{.1, .1, 1, 0, .3, 1}
	skew, marks, hard := effects{.05, .01, .1, .05, .05, .1}, effects{.0055, .0055, .3, .3, .2, .2}, effects{.03, .03, .1, .1, .2, .6}
	for _, c := range []struct {
		name         string
		world        world
		units, cases int
		effect       float64
		more         float64 // of the studies find it than promised, at most
	}{
		{"mean, few readers, many cases", mean(mixed), 3, 400, .63, 0},
		{"mean, many readers, few cases", mean(mixed), 25, 25, .49, 0},
		{"mean, a small difference", mean(steady), 5, 100, .32, 0},
		{"mean, a large difference", mean(steady), 8, 60, .72, 0},
		{"mean, readers differ most", mean(apart), 4, 60, 1.1, 0},
		{"errors, few readers, many cases", folded(skew), 4, 300, .33, 0},
		{"errors, many readers, few cases", folded(skew), 20, 30, .24, 0},
		{"skewed errors, few readers, many cases", skewed(skew), 4, 300, .3, .03},
		{"skewed errors, many readers, few cases", skewed(skew), 20, 30, .2, .03},
		{"area, few readers, many cases", area(marks, 1.2, 2), 3, 400, .27, 0},
		{"area, more readers, fewer cases", area(marks, 1.2, 2), 6, 200, .2, 0},
		{"area, a small difference", area(hard, 1, 2), 6, 150, .2, 0},
		{"area, one of four positive", area(hard, 1, 4), 10, 240, .25, 0},
		{"area, 30 of 60 positive", area(marks, 1.2, 2), 20, 60, .36, .06},
		{"area, 20 of 200 positive", area(marks, 1.2, 10), 10, 200, .35, .06},
		{"area, near 1", area(hard, 1.8, 2), 10, 100, .4, .1},
	} {
		rng := rand.New(rand.NewPCG(3, 5))
		s, r := c.world.expected(t, rng, pilots, c.effect), Report{Difference: c.world.difference(c.effect)}
		row, found, narrow := r.size(s, c.units, c.cases, 1), 0, 0
		for range draws {
			e := overall(c.world.analysed(t, rng, c.units, c.cases, c.effect))
			if *e.P < .05 {
				found++
			}
			if (*e.High-*e.Low)/2 <= row.HalfWidth {
				narrow++
			}
		}
		about := fmt.Sprintf("%s, %d × %d", c.name, c.units, c.cases)
		held(t, row.Power, share(found, draws), c.more, draws, about)
		t.Logf("  Hillis %.3f; half-width: %.3f narrower", row.Published, share(narrow, draws))
	}
}

// Of 2,000 comparisons that metrics.OverRuns sees, as many find the difference as the plan promises.
func TestPowerOfComparisons(t *testing.T) {
	for _, v := range [][3]float64{{1e-4, 0, 1e-3}, {1e-5, 25e-4, 4e-4}, {1e-4, 25e-4, 25e-4}} {
		for _, seeds := range []int{3, 5, 8} {
			for _, images := range []int{20, 200} {
				for _, promise := range []float64{.5, .8} {
					rng := rand.New(rand.NewPCG(3, 5))
					s := &Study{Units: "seeds", Unit: v[0], Case: v[1], Both: v[2]}
					var r Report
					for step := .5; step > 1e-6; step /= 2 {
						if r.Difference += step; r.size(s, seeds, images, 1).Power > promise {
							r.Difference -= step
						}
					}
					row, found, narrow := r.size(s, seeds, images, 1), 0, 0
					for range 2000 {
						e := metrics.OverRuns(effects{own: 0, reader: v[0], of: v[1], both: v[2]}.values(rng, seeds, images, r.Difference)[1])
						if e.P < .05 {
							found++
						}
						if (*e.High-*e.Low)/2 <= row.HalfWidth {
							narrow++
						}
					}
					held(t, row.Power, share(found, 2000), 0, 2000, fmt.Sprintf("variances %v, %d seeds × %d images; %.3f narrower", v, seeds, images, share(narrow, 2000)))
				}
			}
		}
	}
}
