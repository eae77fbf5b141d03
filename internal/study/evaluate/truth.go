package evaluate

import (
	"mrprism/internal/data/metric"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

// truthReport compares Rec0 … RecN with the truth over the images that have one.
type truthReport struct {
	Images int             `json:"images"`
	Dice   truthComparison `json:"dice"`  // higher is better
	Brier  truthComparison `json:"brier"` // lower is better
}

type truthComparison struct {
	Passes []*metric.Interval `json:"passes"`         // Rec0 … RecN
	Gain   *metric.Interval   `json:"gain,omitempty"` // RecN less Rec0
}

// truths gathers the scores; nil if no image has a truth.
func truths(scores []*classScore) *truthReport {
	with := statistics.Filter(scores, func(c *classScore) bool { return c.Truth != nil })
	if len(with) == 0 {
		return nil
	}
	last := len(with[0].Truth) - 1
	compare := func(of func(score.Truth) float64) (out truthComparison) {
		out.Passes = statistics.Tabulate(last+1, func(i int) *metric.Interval {
			return statistics.MeanOver(with, func(c *classScore) float64 { return of(c.Truth[i]) })
		})
		if last > 0 {
			out.Gain = statistics.MeanOver(with, func(c *classScore) float64 { return of(c.Truth[last]) - of(c.Truth[0]) })
		}
		return out
	}
	return &truthReport{len(with), compare(func(s score.Truth) float64 { return s.Dice }), compare(func(s score.Truth) float64 { return s.Brier })}
}

func (t *table) truth(r *Report, c classReport) {
	t.Title("%s, %d images: beside the truth; Brier inside the union of truth and marks (lower is better)", c.Class, c.Truth.Images)
	t.Line("\tDice ×100\tBrier ×100")
	dice, brier := c.Truth.Dice, c.Truth.Brier
	for i := range dice.Passes {
		t.Line("Rec%d\t%s\t%s", i, report.Plain(dice.Passes[i], 100, 2), report.Plain(brier.Passes[i], 100, 2))
	}
	if dice.Gain != nil {
		t.Line("Rec%d − Rec0\t%s\t%s", r.Recurrences, report.Signed(dice.Gain, 100, 2), report.Signed(brier.Gain, 100, 2))
	}
}
