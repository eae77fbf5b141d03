package evaluate

import (
	"context"
	"math"
	"slices"

	"mrprism/cmd/study/internal/compare"
	"mrprism/cmd/study/internal/input"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
)

// caseScore is one image of -data. All figures are of masks at the image's size; shares are 0..1.
type caseScore struct {
	statistics.Unit `json:"-"`
	Name            string         `json:"name"`
	Folder          string         `json:"folder"`
	Region          imageio.Square `json:"region"`
	judgement                      // if nothing was found, an empty mask is scored
	Classes         []*classScore  `json:"classes"` // null for a class without marks
	Ratio           *ratioScore    `json:"verticalRatio,omitempty"`
	Changed         []changedScore `json:"changed,omitempty"` // by change
}

// classScore is one structure in one image.
type classScore struct {
	statistics.Unit `json:"-"`
	SoftDice        []float64 `json:"softDice"` // of Rec0 … RecN against the mean vote
	// Unmarked: every mark is empty. BothEmpty: RecN too has no pixel above one half. Soft Dice
	// then counts 1 for every threshold that RecN does not reach, and 1 is no overlap
	Unmarked  bool `json:"unmarked,omitempty"`
	BothEmpty bool `json:"bothEmpty,omitempty"`
	// OneEmpty: the majority or RecN is empty, and the other is not: distances are the diagonal
	OneEmpty bool `json:"oneEmpty,omitempty"`
	// Truth: Dice of Rec0 … RecN with truth/CLASS/NAME.png, if that exists
	Truth []float64 `json:"truth,omitempty"`
	// Dice of head m (row) with rater n (column); null for a missing mark
	Heads  [][]*float64 `json:"heads,omitempty"`
	Raters [][]*float64 `json:"raters,omitempty"` // Dice of rater m with rater n
	// Response: by rater; null if the mark is missing or a mask is empty. By panel: beside the vote of
	// the data's raters, in soft Dice
	Response  []*Response   `json:"response,omitempty"`
	Agreement agreement     `json:"agreement"`
	Set       *set          `json:"set,omitempty"`      // of named raters
	Interval  *heldInterval `json:"interval,omitempty"` // of the area, pixels
	// EmptyHeads: no rater's head has a pixel above one half
	EmptyHeads bool `json:"emptyHeads,omitempty"`
	// Marks: by rater, null for a missing mark; absent with fewer than three marks or no disputed
	// pixel
	Marks []*markScore `json:"marks,omitempty"`
}

// set compares the heads, as a set of possible marks, with the raters' marks.
type set struct {
	Energy float64  `json:"generalizedEnergyDistance"`
	Max    float64  `json:"diceMax"`
	Match  *float64 `json:"diceMatch"`
}

// agreement compares a structure's outline with the majority's. "evaluate raters" compares raters.
type agreement struct {
	// Hausdorff: pixels, of RecN; the image's diagonal if the mask or the majority is empty
	Hausdorff *float64 `json:"hausdorff95"`
}

// watch takes from an image's result what its maps' figures do not say.
func (s *study) watch(ctx context.Context, e *segment.Engine, l *dataset.Loaded, r *segment.Result) (any, error) {
	s.adapter = e.Adapter()
	c := &caseScore{Name: l.Name, Folder: l.Folder, Region: r.ROI, judgement: trustOf(r), Ratio: s.ratio(l, r)}
	alone, err := s.alone(ctx, e, l.Name, r)
	if err != nil {
		return nil, err
	}
	for k := range s.data.Classes {
		class, err := s.class(l, r, alone, k)
		if err != nil {
			return nil, err
		}
		c.Classes = append(c.Classes, class)
	}
	if s.Changed {
		c.Changed, err = s.changes(ctx, e, l)
	}
	return c, err
}

// alone are the results with all weight on each rater, or each panel; nil if the weights do not
// follow raters of the data, or nothing was found.
func (s *study) alone(ctx context.Context, e *segment.Engine, name string, r *segment.Result) (all []*segment.Result, err error) {
	about := &s.session.Model.Metadata
	follows := !s.data.Levels && input.SameRaters(about, s.data) && (segment.HasHeads(about) || r.Steered)
	if !r.Found || !follows && len(about.Panels) == 0 {
		return nil, nil
	}
	weighed := segment.Weighed(about)
	for i := range weighed {
		s.progress.Show("%s: all weight to rater %d of %d", name, i+1, len(weighed))
		one := make([]float32, len(weighed))
		one[i] = 1
		result, err := e.Recalculate(ctx, segment.Options{Recurrences: s.Recurrences, RaterWeights: one})
		if err != nil {
			return nil, err
		}
		all = append(all, result)
	}
	return all, nil
}

// class scores the raters of a structure, and the result beside them; nil if it has no votes.
func (s *study) class(l *dataset.Loaded, r *segment.Result, alone []*segment.Result, k int) (*classScore, error) {
	target := score.TargetOf(l, k, nil)
	if target == nil {
		return nil, nil
	}
	out := &classScore{Interval: promised(r.Measurements.Structures[k].Interval, float64(metric.Area(target.Majority)))}
	if about := &s.session.Model.Metadata; segment.HasHeads(about) && input.SameRaters(about, s.data) {
		for _, mark := range target.Marks {
			among := make([]*float64, len(target.Marks))
			if mark != nil {
				among = orNull(target.Dices(metrics.Pack(mark)))
			}
			out.Raters = append(out.Raters, among)
		}
		if alone != nil && !s.data.Levels {
			truth, err := l.Case.Truth(s.data.Classes[k])
			if err != nil {
				return nil, err
			}
			out.Marks = weighMarks(func(m int) []float32 { return r.Rater(m, k) }, target.Marks, truth)
			out.EmptyHeads = !slices.ContainsFunc(statistics.Tabulate(len(target.Marks), func(m int) int { return metric.Area(r.Rater(m, k)) }), func(area int) bool { return area > 0 })
		}
	}
	if alone == nil {
		return out, nil
	}
	last := r.Probability(k)
	for i, one := range alone {
		p, panels := one.Probability(k), len(s.session.Model.Metadata.Panels) > 0
		if !panels {
			out.Response = append(out.Response, respond(last, p, target.Marks[i], target.Votes))
			continue
		}
		r := respond(last, p, target.Majority, target.Votes)
		if r != nil {
			r.Before, r.After = target.SoftDice(last), target.SoftDice(p)
		}
		out.Response = append(out.Response, r)
	}
	return out, nil
}

// of says of which unit the image is.
func (c *caseScore) of(unit statistics.Unit) {
	c.Unit = unit
	for _, class := range statistics.Filter(c.Classes, func(class *classScore) bool { return class != nil }) {
		class.Unit = unit
	}
	if c.Ratio != nil {
		c.Ratio.Unit = unit
	}
}

// score adds the figures of the maps against the mean vote and the truth, and those of heads if
// they are of the data's raters.
func (c *caseScore) score(mean, truth []*compare.Row, heads bool) {
	for k, out := range c.Classes {
		row := mean[k]
		if out == nil || row == nil {
			continue
		}
		last := row.Last()
		out.SoftDice = statistics.Tabulate(len(row.Passes), func(i int) float64 { return row.Passes[i][score.SoftDice] })
		out.Unmarked, out.BothEmpty, out.OneEmpty = row.Empty, row.Empty && last[score.Dice] == 1, last[score.OneEmpty] == 1
		out.Agreement.Hausdorff = statistics.Defined(last[score.Hausdorff])
		if truth[k] != nil {
			out.Truth = statistics.Tabulate(len(row.Passes), func(i int) float64 { return truth[k].Passes[i][score.Dice] })
		}
		if !heads || row.Heads == nil {
			continue
		}
		for _, dice := range row.Heads {
			out.Heads = append(out.Heads, orNull(dice))
		}
		if energy := statistics.Defined(last[score.Energy]); energy != nil {
			out.Set = &set{*energy, last[score.DiceMax], statistics.Defined(last[score.DiceMatch])}
		}
	}
}

// last is the soft Dice of RecN; NaN for a class without marks.
func (c *caseScore) last(k int) float64 {
	if c.Classes[k] == nil {
		return math.NaN()
	}
	dice := c.Classes[k].SoftDice
	return dice[len(dice)-1]
}

// orNull are values with nil in place of NaN.
func orNull(values []float64) []*float64 {
	return statistics.Tabulate(len(values), func(i int) *float64 { return statistics.Defined(values[i]) })
}
