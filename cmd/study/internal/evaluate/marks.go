package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// markScore judges a rater's mark by that rater's head, which predicts where the rater would draw.
// A mark that is unlikely under the head is unusual for this rater.
type markScore struct {
	// Weight is how much the mark counts in the likelihood fusion; the mean is 1. The likelihood is
	// the mean log-probability of the mark under the rater's own head, over the pixels that the
	// raters dispute; a softmax over the raters makes it a share (PAPER.md §3.3).
	Weight float64  `json:"weight"`
	Area   int      `json:"area"`            // pixels
	Dice   float64  `json:"dice"`            // with the majority of the other raters
	Truth  *float64 `json:"truth,omitempty"` // Dice with the truth, if there is one
}

const (
	fewestRaters      = 3    // a majority of the others needs two
	gross             = 0.7  // below this Dice, a mark differs grossly from the others
	lowestProbability = 1e-3 // clamp of the heads before the logarithm (PAPER.md §3.4)
)

// disputed are the pixels on which the marks (H, W) of the raters, nil for a missing one, differ;
// nil without such pixels, or for too few marks.
func disputed(marks [][]uint8) (places []int) {
	given := statistics.Filter(marks, func(m []uint8) bool { return m != nil })
	if len(given) < fewestRaters {
		return nil
	}
	for i := range given[0] {
		if slices.ContainsFunc(given[1:], func(m []uint8) bool { return (m[i] == 0) != (given[0][i] == 0) }) {
			places = append(places, i)
		}
	}
	return places
}

// likelihood is the geometric mean of the probabilities that a head p (H, W) gives to a mark in
// these places.
func likelihood(p []float32, mark []uint8, places []int) float64 {
	logarithm := 0.
	for _, i := range places {
		p := min(max(float64(p[i]), lowestProbability), 1-lowestProbability)
		if mark[i] == 0 {
			p = 1 - p
		}
		logarithm += math.Log(p)
	}
	return math.Exp(logarithm / float64(len(places)))
}

// weighMarks scores the marks (H, W) of the raters, nil for a missing one, by their likelihoods
// under the raters' heads. It is nil for fewer than three marks, and where they are equal.
func weighMarks(head func(m int) []float32, marks [][]uint8, truth []uint8) []*markScore {
	places := disputed(marks)
	if places == nil {
		return nil
	}
	out, sum, given := make([]*markScore, len(marks)), 0., 0.
	for m, mark := range marks {
		if mark == nil {
			continue
		}
		out[m] = &markScore{Weight: likelihood(head(m), mark, places), Area: metric.Area(mark), Dice: metric.Dice(mark, majority(marks, m))}
		sum += out[m].Weight
		given++
		if truth != nil {
			out[m].Truth = new(metric.Dice(mark, truth))
		}
	}
	for _, mark := range out {
		if mark != nil {
			mark.Weight = mark.Weight / sum * given
		}
	}
	return out
}

// majority is the mask that more than half of the other raters marked.
func majority(marks [][]uint8, but int) []uint8 {
	var others [][]uint8
	for m, mark := range marks {
		if mark != nil && m != but {
			others = append(others, mark)
		}
	}
	return metric.Count(others...).Majority()
}

type marksReport struct {
	Raters []markReport `json:"raters"`
	// Spearman's correlation of weight and Dice among the raters of an image
	Rank *metric.Interval `json:"rank,omitempty"`
	// Null: the same of the smaller area in place of the weight. So the weights of empty heads rank
	// marks; RankLessNull is what the network adds
	Null         *metric.Interval `json:"null,omitempty"`
	RankLessNull *metric.Interval `json:"rankLessNull,omitempty"`
	EmptyHeads   int              `json:"emptyHeads"` // images whose heads are all empty
	// Gross is the weight of the marks with a Dice below gross, first averaged within an image.
	Gross      *metric.Interval `json:"gross,omitempty"`
	GrossMarks []grossMark      `json:"grossMarks,omitempty"` // the worst first
	// Dice is with the truth, which all images have; else with the majority of the others
	Truth bool `json:"truth"`
}

type markReport struct {
	Rater  string           `json:"rater"`
	Weight *metric.Interval `json:"weight"`
	Dice   *metric.Interval `json:"dice"`
}

type grossMark struct {
	Image  string  `json:"image"`
	Rater  string  `json:"rater"`
	Weight float64 `json:"weight"`
	Dice   float64 `json:"dice"`
}

// marksReport gathers the marks of class k over the cases; nil without scored marks.
func (s *study) marksReport(k int) *marksReport {
	scored := statistics.Filter(s.scores, func(c *caseScore) bool { return c.Classes[k] != nil && c.Classes[k].Marks != nil })
	if len(scored) == 0 {
		return nil
	}
	out := &marksReport{Truth: !slices.ContainsFunc(scored, func(c *caseScore) bool { return c.Classes[k].Truth == nil })}
	of := func(c *caseScore, m int, figure func(*markScore) float64) float64 {
		if mark := c.Classes[k].Marks[m]; mark != nil {
			return figure(mark)
		}
		return math.NaN()
	}
	weight, size := func(m *markScore) float64 { return m.Weight }, func(m *markScore) float64 { return -float64(m.Area) }
	dice := func(m *markScore) float64 {
		if out.Truth {
			return *m.Truth
		}
		return m.Dice
	}
	for m, name := range s.data.Raters {
		mean := func(most float64, figure func(*markScore) float64) *metric.Interval {
			return statistics.MeanWithin(0, most, scored, func(c *caseScore) float64 { return of(c, m, figure) })
		}
		if weights := mean(math.Inf(1), weight); weights != nil {
			out.Raters = append(out.Raters, markReport{name, weights, mean(1, dice)})
		}
	}
	given := func(c *caseScore) []*markScore {
		return statistics.Filter(c.Classes[k].Marks, func(m *markScore) bool { return m != nil })
	}
	rank := func(by func(*markScore) float64) func(*caseScore) float64 {
		return func(c *caseScore) float64 {
			return metrics.Spearman(statistics.Values(given(c), by), statistics.Values(given(c), dice))
		}
	}
	out.Rank, out.Null = statistics.MeanWithin(-1, 1, scored, rank(weight)), statistics.MeanWithin(-1, 1, scored, rank(size))
	out.RankLessNull = statistics.MeanWithin(-2, 2, scored, func(c *caseScore) float64 { return rank(weight)(c) - rank(size)(c) })
	out.EmptyHeads = len(statistics.Filter(scored, func(c *caseScore) bool { return c.Classes[k].EmptyHeads }))
	for _, c := range scored {
		for m, mark := range c.Classes[k].Marks {
			if mark != nil && dice(mark) < gross {
				out.GrossMarks = append(out.GrossMarks, grossMark{c.Name, s.data.Raters[m], mark.Weight, dice(mark)})
			}
		}
	}
	slices.SortStableFunc(out.GrossMarks, func(a, b grossMark) int { return cmp.Compare(a.Dice, b.Dice) })
	out.Gross = statistics.MeanWithin(0, math.Inf(1), scored, func(c *caseScore) float64 {
		return metric.Mean(statistics.Values(statistics.Filter(given(c), func(m *markScore) bool { return dice(m) < gross }), weight))
	})
	return out
}

func (r *marksReport) tables(class string) []report.Table {
	with := "the majority of the others"
	if r.Truth {
		with = "the truth"
	}
	t := report.Table{
		Title:   fmt.Sprintf("%s: weight of each rater's marks by their likelihood under the rater's head (1: an equal share), and their Dice ×100 with %s", class, with),
		Columns: report.Columns("", "weight", "Dice ×100"),
	}
	for _, m := range r.Raters {
		t.Add(m.Rater, report.Plain(m.Weight, 1, 2), report.Plain(m.Dice, 100, 1))
	}
	t.Add("rank correlation in an image", report.Signed(r.Rank, 1, 2), "")
	t.Add("  by the smaller mark instead, which takes no network (the null)", report.Signed(r.Null, 1, 2), "")
	t.Add("  less the null", report.Signed(r.RankLessNull, 1, 2), "")
	if r.EmptyHeads > 0 {
		t.Add("images whose heads are all empty: their weights are the null's", r.EmptyHeads, "")
	}
	if r.Gross == nil {
		return []report.Table{t}
	}
	t.Add(fmt.Sprintf("marks with a Dice below %.0f: %d", 100*gross, len(r.GrossMarks)), report.Plain(r.Gross, 1, 2), "")
	g := report.Table{Title: fmt.Sprintf("%s: marks with a Dice below %.0f", class, 100*gross), Columns: report.Columns("rater", "image", "weight", "Dice ×100")}
	g.First(len(r.GrossMarks), func(i int) []any {
		m := r.GrossMarks[i]
		return []any{m.Rater, m.Image, report.Scaled("%.2f", &m.Weight, 1), report.Scaled("%.1f", &m.Dice, 100)}
	})
	return []report.Table{t, g}
}
