// Package plan says how many readers and cases a reading study needs, and how many seeds and images
// a comparison of two models.
package plan

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"

	"gonum.org/v1/gonum/mathext"
)

// Report is plans for a goal: a power for a difference, or the half-width of its 95 % interval, which
// half of all studies undercut.
type Report struct {
	Made       *report.Origin `json:"made"`
	Difference float64        `json:"difference"`
	Power      float64        `json:"power"`
	Width      float64        `json:"width"` // 0: the goal is the power
	Plans      []*Study       `json:"plans"`
}

// Study is how a difference varies, as variances: by unit (reader or seed), by case, and in single
// values beyond both.
type Study struct {
	About  string   `json:"about"`
	Units  string   `json:"units"` // readers or seeds
	Cases  string   `json:"cases"` // cases or images
	Unit   float64  `json:"unit"`
	Case   float64  `json:"case"`
	Both   float64  `json:"both"`
	Within float64  `json:"within"` // the part of Both that a second reading of a case halves; 0: not known
	Notes  []string `json:"notes"`
	Rows   []Row    `json:"rows"` // for each number of units, once and with second readings
	Best   Row      `json:"best"` // that of the fewest readings, or what comes nearest to the goal
}

// Row is a study of a size. Its cases are the fewest that reach the goal, or come nearest.
type Row struct {
	Units     int     `json:"units"`
	Cases     int     `json:"cases"`
	Repeats   int     `json:"repeats"`  // readings of a case by a reader in a modality
	Readings  int     `json:"readings"` // in all; of models: images scored
	HalfWidth float64 `json:"halfWidth"`
	Power     float64 `json:"power"`          // for the difference
	Published float64 `json:"publishedPower"` // of readers, by Hillis, Obuchowski and Berbaum (2011)
	Reached   bool    `json:"reached"`
}

const leastCases, mostCases = 20, 2000 // the figures of fewer cases are far from normal

var grid = []int{3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50}

// Add plans a study: from the last number of units that is too few to the first to which leastCases
// are enough. It tries ever more cases: they can mean fewer degrees of freedom, and a wider interval.
func (r *Report) Add(s *Study) {
	r.Plans = append(r.Plans, s)
	for repeats := 1; repeats == 1 || repeats == 2 && s.Within > 0; repeats++ {
		start := len(s.Rows)
		for _, n := range grid {
			var best Row
			for cases := leastCases; !best.Reached; cases = min(mostCases, cases+max(1, cases/20)) {
				if one := r.size(s, n, cases, repeats); one.lack() < best.lack() {
					best = one
				}
				if cases == mostCases {
					break
				}
			}
			if !best.Reached {
				s.Rows = s.Rows[:start]
			}
			if s.Rows = append(s.Rows, best); best.lack() < s.Best.lack() {
				s.Best = best
			}
			if best.Reached && best.Cases == leastCases {
				break
			}
		}
	}
}

// lack is how far a study is from a goal. One that reaches it lacks only its number of readings.
func (r Row) lack() float64 {
	switch {
	case r.Cases == 0:
		return math.Inf(1)
	case r.Reached:
		return float64(r.Readings)
	}
	return 1e9 + 1e9*r.HalfWidth
}

// size is a study of this size. A study's interval depends on its own mean squares: for those of
// units and cases stand quantiles of chi-squared, all pairs of which are as likely. The rest has
// many degrees of freedom, and its mean stands for it. For normal values the power is so that of the
// real test: readers.Analyse, or metrics.OverRuns of models.
func (r *Report) size(s *Study, units, cases, repeats int) Row {
	n, k, halves := float64(units), float64(cases), []float64(nil)
	rest := (s.Both - s.Within*(1-1/float64(repeats))) / (n * k)
	ofUnits, ofCases := s.Unit/n+rest, s.Case/k+rest
	whole := ofUnits + ofCases - rest
	above := func(v float64) float64 { return math.Erfc(v/math.Sqrt(2*whole)) / 2 }
	out, byCase := Row{Units: units, Cases: cases, Repeats: repeats, Readings: 2 * units * cases * repeats}, quantiles(k-1, 16)
	for _, u := range quantiles(n-1, 40) {
		for _, c := range byCase {
			variance := ofUnits*u + max(0, ofCases*c-rest)
			degrees := (n - 1) * square(variance/(ofUnits*u))
			if s.Units == "seeds" {
				variance, degrees = max(variance, ofCases*c), min(n, k)-1
			}
			half := student(degrees) * math.Sqrt(variance)
			halves = append(halves, half)
			out.Power += (above(half-r.Difference) + above(half+r.Difference)) / (40 * 16)
		}
	}
	out.HalfWidth = metric.Median(halves)
	if degrees := min(mostDegrees, (n-1)*square(whole/ofUnits)); s.Units == "readers" {
		out.Published = 1 - noncentralF(square(student(degrees)), 1, degrees, square(r.Difference)/whole)
	}
	out.Reached = r.Width == 0 && out.Power >= r.Power || out.HalfWidth <= r.Width
	return out
}

// quantiles are those in the middles of n equal parts of chi-squared over its degrees of freedom.
func quantiles(degrees float64, n int) []float64 {
	return statistics.Tabulate(n, func(i int) float64 {
		return mathext.GammaIncRegInv(degrees/2, (float64(i)+.5)/float64(n)) / (degrees / 2)
	})
}

// noncentralF is the probability that a noncentral F variable is at most x: a Poisson mixture of beta
// distributions (Johnson, Kotz and Balakrishnan 1995, chapter 30).
func noncentralF(x, above, below, noncentrality float64) (p float64) {
	mean := max(noncentrality/2, math.SmallestNonzeroFloat64)
	reach := 20 + 10*math.Sqrt(mean) // weights beyond it are below 1e-16
	for j := math.Floor(max(0, mean-reach)); j <= mean+reach; j++ {
		logFactorial, _ := math.Lgamma(j + 1)
		p += math.Exp(j*math.Log(mean)-mean-logFactorial) * mathext.RegIncBeta(above/2+j, below/2, above*x/(above*x+below))
	}
	return p
}

const mostDegrees = 1e6 // for infinitely many

// student is Student's .975 quantile for one degree of freedom or more, between known ones at equal
// steps of 1 over the degrees: within 1e-4 of it, and a thousand times as fast.
func student(degrees float64) float64 {
	at, known := 500/degrees, knots()
	i := min(int(at), 499)
	return known[i] + (at-float64(i))*(known[i+1]-known[i])
}

var knots = sync.OnceValue(func() []float64 {
	return statistics.Tabulate(501, func(i int) float64 { return metric.StudentQuantile(.975, min(mostDegrees, 500/float64(i))) })
})

func square(x float64) float64 { return x * x }

// Document is the plans for people: for each a sentence, a table and a plot.
func (r *Report) Document() *report.Document {
	d := &report.Document{Title: "Plan of a study", Made: r.Made, Basis: "Power is of the two-sided test at .05, averaged over what a study may find of its own variances. Hillis, Obuchowski and Berbaum (2011) take these as known, which promises up to 4 points too much for three readers. Half of all studies have an interval of the half-width or less."}
	for _, s := range r.Plans {
		size := func(of Row, verb string) string {
			return fmt.Sprintf("%d %s %s %d %s each%s", of.Units, s.Units, verb, of.Cases, s.Cases, twice[of.Repeats])
		}
		goal, has := fmt.Sprintf("power %.4g at a difference of %.4g", r.Power, r.Difference), fmt.Sprintf("power %.2f", s.Best.Power)
		if r.Width > 0 {
			goal, has = fmt.Sprintf("a 95 %% interval of ± %.4g", r.Width), fmt.Sprintf("± %.3g", s.Best.HalfWidth)
		}
		answer := fmt.Sprintf("%s: no study of up to %d %s and %d %s reaches %s. Nearest are %s: %s.", s.About, slices.Max(grid), s.Units, mostCases, s.Cases, goal, size(s.Best, "with"), has)
		if fewest := slices.IndexFunc(s.Rows, func(of Row) bool { return of.Reached }); fewest >= 0 {
			answer = fmt.Sprintf("%s: %s takes %d %s or more: %s. The fewest readings are %d: %s.", s.About, goal, s.Rows[fewest].Units, s.Units, size(s.Rows[fewest], "need"), s.Best.Readings, size(s.Best, "need"))
		}
		d.Lead, d.Parts, d.Notes = append(d.Lead, answer), append(d.Parts, r.part(s)), append(d.Notes, s.Notes...)
	}
	return d
}

var twice = map[int]string{2: ", read twice"}

// part is a plan's table, and the cases over the units.
func (r *Report) part(s *Study) report.Part {
	t := report.Table{Title: fmt.Sprintf("%s: %s for each number of %s", s.About, s.Cases, s.Units), Columns: report.Columns(s.Units, s.Cases+" each", "readings", "half-width", "power", "Hillis 2011")}
	if s.Units == "seeds" {
		t.Columns[2].Name, t.Columns = "scores", t.Columns[:5]
	}
	if r.Width > 0 {
		t.Columns = t.Columns[:4]
	}
	curves := []graphs.Series{{Dots: true}, {Dots: true, Index: 1}}
	for _, one := range s.Rows {
		cases := fmt.Sprint(one.Cases, twice[one.Repeats], map[bool]string{false: ", too few"}[one.Reached])
		t.Add([]any{one.Units, cases, one.Readings, fmt.Sprintf("%.3g", one.HalfWidth), fmt.Sprintf("%.3f", one.Power), fmt.Sprintf("%.3f", one.Published)}[:len(t.Columns)]...)
		if c := &curves[one.Repeats-1]; one.Reached {
			c.X, c.Values = append(c.X, float64(one.Units)), append(c.Values, &metric.Interval{Mean: float64(one.Cases)})
		}
	}
	plot := report.Plot{Title: "What reaches the goal", Caption: map[bool]string{true: "lower curve: each case is read twice"}[s.Within > 0], SVG: graphs.New(s.Units, s.Cases+" each", curves...).Inline(s.About)}
	return report.Part{Title: s.About, Tables: []report.Table{t}, Plots: []report.Plot{plot}}
}
