package evaluate

import (
	"fmt"
	"math"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/trust"
)

// ratioName is the vertical ratio among the figures that a word is about.
const ratioName = "vertical ratio"

// verdicts are the words about the structures and the vertical ratio of a result, by name. A ratio
// that was not found is not to be used.
func verdicts(r *segment.Result) map[string]trust.Verdict {
	out := map[string]trust.Verdict{}
	for _, s := range r.Measurements.Structures {
		if s.Trust != nil {
			out[s.Class] = *s.Trust
		}
	}
	if disc, cup := metric.DiscAndCup(r.Classes); disc >= 0 && cup >= 0 {
		out[ratioName] = trust.Verdict{Word: trust.DoNotUse}
		if ratio := r.Measurements.VerticalRatio; ratio != nil && ratio.Trust != nil {
			out[ratioName] = *ratio.Trust
		}
	}
	return out
}

// wordsReport counts how often a figure has each word.
type wordsReport struct {
	Figure   string           `json:"figure"`
	Trusted  statistics.Share `json:"trusted"`
	Check    statistics.Share `json:"check"`
	DoNotUse statistics.Share `json:"doNotUse"`
	// Near: of the trusted ratios, those within withinReach of the experts' mean; absent without
	// experts
	Near *statistics.Share `json:"trustedWithinReach,omitempty"`
}

// withinReach is how far a trusted ratio may lie from the mean of the experts' ratios.
const withinReach = 0.1

// wordsOf counts the words about each figure in the order of names.
func wordsOf(all []*judgement, classes []string) (reports []wordsReport) {
	for _, name := range append(append([]string{}, classes...), ratioName) {
		known := statistics.Filter(all, func(t *judgement) bool { return t.Words[name].Word != "" })
		if len(known) == 0 {
			continue
		}
		with := func(word string) statistics.Share {
			return statistics.ShareOf(known, func(t *judgement) bool { return t.Words[name].Word == word })
		}
		reports = append(reports, wordsReport{Figure: name, Trusted: with(trust.Trusted), Check: with(trust.Check), DoNotUse: with(trust.DoNotUse)})
	}
	return reports
}

// caseWords adds to the words of -data how near trusted ratios are to the experts' mean.
func (s *study) caseWords() []wordsReport {
	reports := wordsOf(statistics.Tabulate(len(s.scores), func(i int) *judgement { return &s.scores[i].judgement }), s.data.Classes)
	trusted := statistics.Filter(s.scores, func(c *caseScore) bool { return c.Ratio != nil && c.Words[ratioName].Word == trust.Trusted })
	for i := range reports {
		if reports[i].Figure == ratioName && len(trusted) > 0 {
			reports[i].Near = new(statistics.ShareOf(trusted, func(c *caseScore) bool { return math.Abs(c.Ratio.Predicted-c.Ratio.Experts) <= withinReach }))
		}
	}
	return reports
}

// experts is the mean of the experts' own ratios, or of the levels'. Where not all of them marked
// both structures, it is the majority's.
func experts(l *dataset.Loaded, disc, cup int, majority float64) float64 {
	outer, inner := l.Given(disc), l.Given(cup)
	if len(outer) != len(inner) {
		return majority
	}
	sum := 0.
	for i := range outer {
		sum += metric.VerticalRatio(metric.Count(outer[i]).Mean(), metric.Count(inner[i]).Mean(), l.Image.W, l.Image.H)
	}
	return sum / float64(len(outer))
}

// wordsTables say how often each figure is trusted, in a set of photographs; none without figures.
func wordsTables(set string, reports []wordsReport) []report.Table {
	if len(reports) == 0 {
		return nil
	}
	t := report.Table{
		Title:   "How far to trust the figures" + set,
		Columns: report.Columns("", "trusted", "check", "do not use", fmt.Sprintf("trusted, within %.1f of the experts' mean", withinReach)),
	}
	for _, r := range reports {
		near := ""
		if r.Near != nil {
			near = r.Near.String()
		}
		t.Add(r.Figure, r.Trusted, r.Check, r.DoNotUse, near)
	}
	return []report.Table{t}
}
