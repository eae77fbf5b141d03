package main

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/metric"
)

// markScore is what the heads make of one rater's mark. A head says where its rater would draw: a mark that is unlikely under it is one that he does
// not usually make.
type markScore struct {
	// Weight is the share that the mark would have in a fusion by likelihood, over an equal share: the mean log-probability that the rater's own
	// head gives his mark, over the pixels that the raters dispute, in a softmax over the raters, times their number (PAPER.md §3.3).
	Weight float64  `json:"weight"`
	Dice   float64  `json:"dice"`            // of the mark with the majority of the other raters
	Truth  *float64 `json:"truth,omitempty"` // with the truth, where there is one
}

// fewest raters of whom a majority of the others can be told.
const fewestRaters = 3

// gross is the Dice below which a mark is called grossly different from the others'.
const gross = 0.7

// shown is how many of those the table names.
const shown = 10

// lowestProbability is the clamp of the heads before the logarithm (PAPER.md §3.4).
const lowestProbability = 1e-3

// marked scores the raters' marks, masks (H, W) or nil, by their heads (H, W): nil for raters without a mark; all nil where too few have marked, or
// nothing is in dispute.
func marked(heads [][]float32, marks [][]uint8, truth []uint8) []*markScore {
	given := slices.DeleteFunc(slices.Clone(marks), func(m []uint8) bool { return m == nil })
	if len(given) < fewestRaters {
		return nil
	}
	votes := metric.Count(given...).Mean()
	likelihood := make([]float64, len(marks))
	disputed := 0
	for i, v := range votes {
		if v == 0 || v == 1 {
			continue
		}
		disputed++
		for m, mark := range marks {
			if mark == nil {
				continue
			}
			p := min(max(float64(heads[m][i]), lowestProbability), 1-lowestProbability)
			if mark[i] == 0 {
				p = 1 - p
			}
			likelihood[m] += math.Log(p)
		}
	}
	if disputed == 0 {
		return nil
	}
	sum := 0.
	for m, mark := range marks {
		if mark != nil {
			likelihood[m] = math.Exp(likelihood[m] / float64(disputed))
			sum += likelihood[m]
		}
	}
	out := make([]*markScore, len(marks))
	for m, mark := range marks {
		if mark == nil {
			continue
		}
		out[m] = &markScore{Weight: likelihood[m] / sum * float64(len(given)), Dice: metric.Dice(mark, majority(marks, m))}
		if truth != nil {
			d := metric.Dice(mark, truth)
			out[m].Truth = &d
		}
	}
	return out
}

// majority is what more than half of the raters but one marked.
func majority(marks [][]uint8, but int) []uint8 {
	others := 0
	var counts []int
	for m, mark := range marks {
		if mark == nil || m == but {
			continue
		}
		others++
		if counts == nil {
			counts = make([]int, len(mark))
		}
		for i, v := range mark {
			counts[i] += int(v)
		}
	}
	out := make([]uint8, len(counts))
	for i, n := range counts {
		if 2*n > others {
			out[i] = 1
		}
	}
	return out
}

type marksReport struct {
	Raters []markReport     `json:"raters"`
	Rank   *metric.Interval `json:"rank,omitempty"` // Spearman's correlation of weight and Dice among the raters of an image
	// Of the marks whose Dice is below gross: their weights, first averaged within an image, and which they are.
	Gross      *metric.Interval `json:"gross,omitempty"`
	GrossMarks []grossMark      `json:"grossMarks,omitempty"` // the worst first
	Truth      bool             `json:"truth"`                // Dice is with the truth, which all of these images have, not with the majority of the others
}

type markReport struct {
	Rater  string          `json:"rater"`
	Weight metric.Interval `json:"weight"`
	Dice   metric.Interval `json:"dice"`
}

type grossMark struct {
	Image  string  `json:"image"`
	Rater  string  `json:"rater"`
	Weight float64 `json:"weight"`
	Dice   float64 `json:"dice"`
}

// marksReport gathers what cases say of the marks of class k; nil where none does.
func (s *scorer) marksReport(k int) *marksReport {
	out := &marksReport{Truth: true}
	weights, dice := make([][]float64, len(s.data.Raters)), make([][]float64, len(s.data.Raters))
	var ranks, low []float64
	scored := slices.DeleteFunc(slices.Clone(s.cases), func(c *caseScore) bool { return c.Classes[k] == nil || c.Classes[k].Marks == nil })
	for _, c := range scored {
		out.Truth = out.Truth && c.Classes[k].Truth != nil
	}
	for _, c := range scored {
		var w, d, grossly []float64
		for m, mark := range c.Classes[k].Marks {
			if mark == nil {
				continue
			}
			with := mark.Dice
			if out.Truth {
				with = *mark.Truth
			}
			weights[m], dice[m] = append(weights[m], mark.Weight), append(dice[m], with)
			w, d = append(w, mark.Weight), append(d, with)
			if with < gross {
				grossly = append(grossly, mark.Weight)
				out.GrossMarks = append(out.GrossMarks, grossMark{c.Name, s.data.Raters[m], mark.Weight, with})
			}
		}
		if len(grossly) > 0 {
			low = append(low, metric.Mean(grossly))
		}
		if rank := metric.Spearman(w, d); !math.IsNaN(rank) {
			ranks = append(ranks, rank)
		}
	}
	for m, name := range s.data.Raters {
		if len(weights[m]) > 0 {
			out.Raters = append(out.Raters, markReport{name, *interval(weights[m]), *interval(dice[m])})
		}
	}
	if out.Raters == nil {
		return nil
	}
	slices.SortStableFunc(out.GrossMarks, func(a, b grossMark) int { return cmp.Compare(a.Dice, b.Dice) })
	out.Rank, out.Gross = interval(ranks), interval(low)
	return out
}

func (t *table) marks(class string, r *marksReport) {
	with := "the majority of the others"
	if r.Truth {
		with = "the truth"
	}
	t.title("%s: weight that a rater's marks get by their likelihood under his head (1: as all), and their Dice ×100 with %s", class, with)
	for _, m := range r.Raters {
		t.line("%s\t%s\t%s", m.Rater, plain(m.Weight, 1, 2), plain(m.Dice, 100, 1))
	}
	if r.Rank != nil {
		t.line("rank correlation in an image\t%s\t", signed(*r.Rank, 1, 2))
	}
	if r.Gross != nil {
		t.line("marks with a Dice below %.0f: %d\t%s\t", 100*gross, len(r.GrossMarks), plain(*r.Gross, 1, 2))
	}
	for _, m := range r.GrossMarks[:min(len(r.GrossMarks), shown)] {
		t.line("  %s of %s\t%.2f\t%.1f", m.Rater, m.Image, m.Weight, 100*m.Dice)
	}
	if more := len(r.GrossMarks) - shown; more > 0 {
		t.line("  and %d more, in -json", more)
	}
}
