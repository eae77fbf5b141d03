package main

import (
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// setScore compares the heads, as a set of possible marks, with the raters' marks.
type setScore struct {
	Energy float64  `json:"generalizedEnergyDistance"`
	Max    float64  `json:"diceMax"`
	Match  *float64 `json:"diceMatch"` // null for too many raters to match
}

// agreement compares a structure's outline with the majority's, and the raters with each other.
type agreement struct {
	// Hausdorff: pixels, of RecN; null if the mask or the majority is empty
	Hausdorff *float64 `json:"hausdorff95"`
	// Kappa: inside the union of the marks; null if not defined, as for equal marks
	Kappa      *float64 `json:"fleissKappa"`
	KappaWhole *float64 `json:"fleissKappaWholeImage"`
}

func agree(last []float32, votes metric.Votes, w, h int) agreement {
	return agreement{
		defined(metric.Hausdorff95(last, votes.Mean(), w, h)), defined(metric.FleissKappa(votes, votes.Union())), defined(metric.FleissKappa(votes, nil)),
	}
}

// set compares the heads of the raters who have marked with their marks; nil for fewer than two.
func set(heads [][]float32, marks [][]uint8) *setScore {
	var predicted [][]float32
	var given [][]uint8
	for m, mark := range marks {
		if mark != nil {
			predicted, given = append(predicted, heads[m]), append(given, mark)
		}
	}
	if len(given) < 2 {
		return nil
	}
	dice := make(metric.Matrix, len(given))
	for i, head := range predicted {
		dice[i] = each(len(given), func(j int) float64 { return metric.Dice(head, given[j]) })
	}
	return &setScore{metric.Energy(predicted, given), dice.Max(), defined(dice.Match())}
}

// areas are a structure's pixels by rater; nil if a rater's mark is missing, and for levels.
func (s *scorer) areas(l *dataset.Loaded, k int) []float64 {
	given := l.Given(k)
	if s.data.Levels || len(given) < len(s.data.Raters) {
		return nil
	}
	return each(len(given), func(m int) float64 { return float64(metric.Area(given[m])) })
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
		values := figures(scores, func(c *classScore) float64 { return number(of(c.Agreement)) })
		return interval(values), len(scores) - len(values)
	}
	agreed := &agreementReport{}
	agreed.Hausdorff, agreed.Undefined = gather(func(a agreement) *float64 { return a.Hausdorff })
	agreed.Kappa, agreed.KappaUndefined = gather(func(a agreement) *float64 { return a.Kappa })
	agreed.KappaWhole, agreed.WholeUndefined = gather(func(a agreement) *float64 { return a.KappaWhole })
	var areas [][]float64
	var sets []*setScore
	for _, c := range scores {
		if c.Areas != nil {
			areas = append(areas, c.Areas)
		}
		if c.Set != nil {
			sets = append(sets, c.Set)
		}
	}
	agreed.ICC = defined(metric.ICC(areas))
	if sets == nil {
		return nil, agreed
	}
	return &setReport{
		over(sets, func(s *setScore) float64 { return s.Energy }), over(sets, func(s *setScore) float64 { return s.Max }),
		over(sets, func(s *setScore) float64 { return number(s.Match) }),
	}, agreed
}

func (t *table) agreement(r *report, class string, a *agreementReport) {
	t.Title("%s: outline of Rec%d, and how far the raters agree", class, r.Recurrences)
	undefined := func(why string, images int) {
		if images > 0 {
			t.Line("  not defined: %s\t%d", why, images)
		}
	}
	t.row("95 % Hausdorff distance from the majority, pixels", a.Hausdorff, plain, 1, 1)
	undefined("one of the two masks is empty", a.Undefined)
	t.row("Fleiss' kappa of the raters inside the union of all marks", a.Kappa, signed, 1, 2)
	undefined("marks are equal, or there is one", a.KappaUndefined)
	t.row("  in the whole image", a.KappaWhole, signed, 1, 2)
	undefined("marks are empty or full, or there is one", a.WholeUndefined)
	if a.ICC != nil {
		t.Line("intraclass correlation (2,1) of the raters' areas\t%.2f", *a.ICC)
	}
}

func (t *table) set(class string, s *setReport) {
	t.Title("%s: the heads as a set of possible marks, beside the raters' marks", class)
	t.row("generalized energy distance, 1 − IoU (0: equal sets)", s.Energy, plain, 1, 3)
	t.row("Dice_max ×100, the best head for each mark", s.Max, plain, 100, 1)
	t.row("Dice_match ×100, another head for each mark", s.Match, plain, 100, 1)
}
