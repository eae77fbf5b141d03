package evaluate

import (
	"fmt"
	"math"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
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

// table has the means of heads by raters, or by levels.
func (h *headsReport) table(class, kind string, raters []string) report.Table {
	t := report.Table{Title: fmt.Sprintf("%s: Dice ×100 of each head (row) with each %s (column)", class, kind), Columns: report.Columns(append([]string{""}, raters...)...)}
	for i, row := range h.Dice {
		cells := []any{raters[i]}
		for _, d := range row {
			cells = append(cells, report.Scaled("%.1f", d, 100))
		}
		t.Add(cells...)
	}
	return t
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

func responsesTable(class string, reports []responseReport) report.Table {
	t := report.Table{
		Title:   class + ": one rater has all the weight",
		Columns: report.Columns("", "area moves, %", "the rater's own area, %", "Dice ×100 with the rater, equal weights", "alone", "gain"),
	}
	for _, r := range reports {
		t.Add(r.Rater, report.Signed(r.Area, 100, 1), report.Scaled("%+.1f", &r.Own.Mean, 100), report.Scaled("%.1f", &r.Before.Mean, 100),
			report.Scaled("%.1f", &r.After.Mean, 100), report.Signed(r.Gain, 100, 2))
	}
	return t
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
	sets := statistics.NonNil(scores, func(c *classScore) *set { return c.Set })
	if sets == nil {
		return nil, agreed
	}
	return &setReport{
		statistics.MeanOver(sets, func(s *set) float64 { return s.Energy }), statistics.MeanOver(sets, func(s *set) float64 { return s.Max }),
		statistics.MeanOver(sets, func(s *set) float64 { return statistics.Number(s.Match) }),
	}, agreed
}
