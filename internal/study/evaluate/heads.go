package evaluate

import (
	"fmt"
	"math"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
	"mrprism/weights"
)

// headsReport compares the heads with the raters' marks.
type headsReport struct {
	Dice   [][]*float64     `json:"dice"` // means: heads by raters
	Own    *metric.Interval `json:"own,omitempty"`
	Others *metric.Interval `json:"others,omitempty"`
	Margin *metric.Interval `json:"margin,omitempty"` // own less others
	Raters *metric.Interval `json:"raters,omitempty"` // each rater with the others: what people reach
}

// heads averages the matrices over the images. Own, others and margin are first averaged within an
// image.
func heads(scores []*classScore) *headsReport {
	m := len(scores[0].Heads)
	out := &headsReport{Dice: make([][]*float64, m)}
	for i := range m {
		for j := range m {
			dice := statistics.Values(scores, func(c *classScore) float64 { return statistics.Number(c.Heads[i][j]) })
			out.Dice[i] = append(out.Dice[i], statistics.Defined(metric.Mean(dice)))
		}
	}
	out.Own = statistics.MeanOver(scores, func(c *classScore) float64 { own, _ := means(c.Heads); return own })
	out.Others = statistics.MeanOver(scores, func(c *classScore) float64 { _, others := means(c.Heads); return others })
	out.Margin = statistics.MeanOver(scores, func(c *classScore) float64 { own, others := means(c.Heads); return own - others })
	out.Raters = statistics.MeanOver(scores, func(c *classScore) float64 { _, others := means(c.Raters); return others })
	return out
}

// means are the means of a matrix's diagonal and of the rest; NaN without values.
func means(matrix [][]*float64) (diagonal, rest float64) {
	var on, off []float64
	for i, row := range matrix {
		for j, d := range row {
			switch {
			case d == nil:
			case i == j:
				on = append(on, *d)
			default:
				off = append(off, *d)
			}
		}
	}
	return metric.Mean(on), metric.Mean(off)
}

func (t *table) heads(r *Report, c classReport) {
	kind := "rater"
	if r.Labels == weights.LabelsAgreementLevels {
		kind = "level"
	}
	t.Title("%s: Dice ×100 of each head (row) with each %s (column)", c.Class, kind)
	t.Line("\t%s", strings.Join(r.Raters, "\t"))
	for i, row := range c.Heads.Dice {
		cells := []string{r.Raters[i]}
		for _, d := range row {
			cell := "–"
			if d != nil {
				cell = fmt.Sprintf("%.1f", 100**d)
			}
			cells = append(cells, cell)
		}
		t.Line("%s", strings.Join(cells, "\t"))
	}
	t.Break()
	t.row("with its own", c.Heads.Own, report.Plain, 100, 1)
	t.row("with the others'", c.Heads.Others, report.Plain, 100, 1)
	t.row("own − others", c.Heads.Margin, report.Signed, 100, 1)
	t.row("among the marks themselves", c.Heads.Raters, report.Plain, 100, 1)
}

// Response is the change of the mask when one rater has all the weight.
type Response struct {
	Area float64 `json:"area"` // change of the mask's area, as a share
	// RaterArea: of the rater's mark over the majority's: the change of a mask that follows
	RaterArea float64 `json:"raterArea"`
	Before    float64 `json:"before"` // Dice with the rater, equal weights
	After     float64 `json:"after"`  // Dice with the rater, all weight on this rater
}

// respond compares the mask with that under one rater's weight; nil if the mark is missing, or the
// mask or the majority is empty.
func respond(mask, alone []float32, mark []uint8, votes metric.Votes) *Response {
	area, majority := float64(metric.Area(mask)), float64(metric.Area(votes.Mean()))
	if mark == nil || area == 0 || majority == 0 {
		return nil
	}
	return &Response{
		Area: float64(metric.Area(alone))/area - 1, RaterArea: float64(metric.Area(mark))/majority - 1,
		Before: metric.Dice(mask, mark), After: metric.Dice(alone, mark),
	}
}

type responseReport struct {
	Rater  string           `json:"rater"`
	Images int              `json:"images"`
	Area   *metric.Interval `json:"area"`
	Moved  *metric.Interval `json:"moved"`     // |change of area|
	Own    *metric.Interval `json:"raterArea"` // of the rater's mark over the majority's
	Before *metric.Interval `json:"before"`
	After  *metric.Interval `json:"after"`
	Gain   *metric.Interval `json:"gain"` // after less before
}

// responses averages by rater. It also fits how far the mask follows the raters:
// Σ area·raterArea / Σ raterArea² over all images and raters.
func responses(names []string, scores []*classScore) (out []responseReport, follows *float64) {
	product, square := 0.0, 0.0
	for m, name := range names {
		all := statistics.NonNil(statistics.Filter(scores, func(c *classScore) bool { return c.Response != nil }), func(c *classScore) *Response { return c.Response[m] })
		for _, r := range all {
			product += r.Area * r.RaterArea
			square += r.RaterArea * r.RaterArea
		}
		if len(all) > 0 {
			out = append(out, responseReport{
				name, len(all),
				statistics.MeanOver(all, func(r *Response) float64 { return r.Area }), statistics.MeanOver(all, func(r *Response) float64 { return math.Abs(r.Area) }),
				statistics.MeanOver(all, func(r *Response) float64 { return r.RaterArea }), statistics.MeanOver(all, func(r *Response) float64 { return r.Before }),
				statistics.MeanOver(all, func(r *Response) float64 { return r.After }), statistics.MeanOver(all, func(r *Response) float64 { return r.After - r.Before }),
			})
		}
	}
	return out, statistics.Defined(product / square)
}

func (t *table) responses(c classReport) {
	t.Title("%s: one rater has all the weight", c.Class)
	t.Line("\tarea moves, %%\tthe rater's own area, %%\tDice ×100 with the rater, equal weights\talone\tgain")
	for _, r := range c.Response {
		t.Line("%s\t%s\t%+.1f\t%.1f\t%.1f\t%s", r.Rater, report.Signed(r.Area, 100, 1), 100*r.Own.Mean, 100*r.Before.Mean, 100*r.After.Mean, report.Signed(r.Gain, 100, 2))
	}
	t.Break()
	if c.Follows != nil {
		t.Line("The mask's area makes %.0f %% of the move to the rater's own.", 100**c.Follows)
	}
}

// agreement compares a structure's outline with the majority's, and the raters with each other.
type agreement struct {
	// Hausdorff: pixels, of RecN; null if the mask or the majority is empty
	Hausdorff *float64 `json:"hausdorff95"`
	// Kappa: inside the union of the marks; null if not defined, as for equal marks
	Kappa      *float64 `json:"fleissKappa"`
	KappaWhole *float64 `json:"fleissKappaWholeImage"`
}

func agree(last []float32, target *score.Target) agreement {
	return agreement{
		statistics.Defined(target.Hausdorff95(last)), statistics.Defined(metric.FleissKappa(target.Votes, target.Union)), statistics.Defined(metric.FleissKappa(target.Votes, nil)),
	}
}

// areas are a structure's pixels by rater; nil if a rater's mark is missing, and for levels.
func (s *scorer) areas(l *dataset.Loaded, k int) []float64 {
	given := l.Given(k)
	if s.data.Levels || len(given) < len(s.data.Raters) {
		return nil
	}
	return statistics.Tabulate(len(given), func(m int) float64 { return float64(metric.Area(given[m])) })
}

type setReport struct {
	Energy *metric.Interval `json:"generalizedEnergyDistance"`
	Max    *metric.Interval `json:"diceMax"`
	Match  *metric.Interval `json:"diceMatch,omitempty"`
}

type agreementReport struct {
	Hausdorff *metric.Interval `json:"hausdorff95,omitempty"`
	// Undefined: images in which one of the two masks is empty
	Undefined int              `json:"hausdorff95Undefined"`
	Kappa     *metric.Interval `json:"fleissKappa,omitempty"`
	// KappaUndefined: images with equal marks, empty marks or a single mark
	KappaUndefined int              `json:"fleissKappaUndefined"`
	KappaWhole     *metric.Interval `json:"fleissKappaWholeImage,omitempty"`
	// WholeUndefined: images with empty marks, full marks or a single mark
	WholeUndefined int `json:"fleissKappaWholeImageUndefined"`
	// ICC(2,1) over the images that all raters have marked
	ICC *float64 `json:"iccOfAreas,omitempty"`
}

// setReports gathers both over the images of a structure. The set is nil without named raters'
// heads.
func setReports(scores []*classScore) (*setReport, *agreementReport) {
	gather := func(of func(agreement) *float64) (*metric.Interval, int) {
		values := statistics.Values(scores, func(c *classScore) float64 { return statistics.Number(of(c.Agreement)) })
		return statistics.Interval(values), len(scores) - len(values)
	}
	agreed := &agreementReport{}
	agreed.Hausdorff, agreed.Undefined = gather(func(a agreement) *float64 { return a.Hausdorff })
	agreed.Kappa, agreed.KappaUndefined = gather(func(a agreement) *float64 { return a.Kappa })
	agreed.KappaWhole, agreed.WholeUndefined = gather(func(a agreement) *float64 { return a.KappaWhole })
	var areas [][]float64
	for _, c := range scores {
		if c.Areas != nil {
			areas = append(areas, c.Areas)
		}
	}
	agreed.ICC = statistics.Defined(metric.ICC(areas))
	sets := statistics.NonNil(scores, func(c *classScore) *score.Set { return c.Set })
	if sets == nil {
		return nil, agreed
	}
	return &setReport{
		statistics.MeanOver(sets, func(s *score.Set) float64 { return s.Energy }), statistics.MeanOver(sets, func(s *score.Set) float64 { return s.Max }),
		statistics.MeanOver(sets, func(s *score.Set) float64 { return statistics.Number(s.Match) }),
	}, agreed
}

func (t *table) agreement(r *Report, class string, a *agreementReport) {
	t.Title("%s: outline of Rec%d, and how far the raters agree", class, r.Recurrences)
	undefined := func(why string, images int) {
		if images > 0 {
			t.Line("  not defined: %s\t%d", why, images)
		}
	}
	t.row("95 % Hausdorff distance from the majority, pixels", a.Hausdorff, report.Plain, 1, 1)
	undefined("one of the two masks is empty", a.Undefined)
	t.row("Fleiss' kappa of the raters inside the union of all marks", a.Kappa, report.Signed, 1, 2)
	undefined("marks are equal, or there is one", a.KappaUndefined)
	t.row("  in the whole image", a.KappaWhole, report.Signed, 1, 2)
	undefined("marks are empty or full, or there is one", a.WholeUndefined)
	if a.ICC != nil {
		t.Line("intraclass correlation (2,1) of the raters' areas\t%.2f", *a.ICC)
	}
}

func (t *table) set(class string, s *setReport) {
	t.Title("%s: the heads as a set of possible marks, beside the raters' marks", class)
	t.row("generalized energy distance, 1 − IoU (0: equal sets)", s.Energy, report.Plain, 1, 3)
	t.row("Dice_max ×100, the best head for each mark", s.Max, report.Plain, 100, 1)
	t.row("Dice_match ×100, another head for each mark", s.Match, report.Plain, 100, 1)
}
