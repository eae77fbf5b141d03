package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/trust"
)

// judgement says whether a result found something, and whether to believe it.
type judgement struct {
	Found   bool `json:"found"` // false: nothing was found, and every map is 0
	Doubted bool `json:"doubted"`
	// Doubt: the score: above 1 the result is doubted; null if the weights cannot tell
	Doubt  *float64        `json:"doubt"`
	Doubts []segment.Doubt `json:"doubts,omitempty"`
	// Words: how far to trust each structure and the vertical ratio, by name
	Words map[string]trust.Verdict `json:"trust,omitempty"`
}

// trustOf is the result's trust. JSON has no infinity and no NaN: the largest number replaces a
// score of either.
func trustOf(r *segment.Result) judgement {
	t := judgement{r.Found, len(r.Doubts) > 0, r.Doubt, r.Doubts, verdicts(r)}
	if t.Doubt != nil && !(*t.Doubt <= math.MaxFloat64) {
		t.Doubt = new(math.MaxFloat64)
	}
	return t
}

// oddness is the score by which results are ranked: infinite if nothing was found. It is not known
// if the weights cannot tell.
func (t *judgement) oddness() (score float64, known bool) {
	if !t.Found {
		return math.Inf(1), true
	}
	return statistics.Number(t.Doubt), t.Doubt != nil
}

// Codes are the codes of the doubts, each once, in the result's order.
func (t *judgement) Codes() (codes []string) {
	for _, d := range t.Doubts {
		if !slices.Contains(codes, d.Code) {
			codes = append(codes, d.Code)
		}
	}
	return codes
}

// doubtsReport counts the images of -data that are doubted.
type doubtsReport struct {
	Doubted statistics.Share `json:"doubted"`
	Codes   []CodeCount      `json:"codes"` // the most frequent first; an image may have several
}

type CodeCount struct {
	Code   string `json:"code"`
	Images int    `json:"images"`
}

// doubts gathers the doubts; nil without images.
func doubts(cases []*caseScore) *doubtsReport {
	if len(cases) == 0 {
		return nil
	}
	images := map[string]int{}
	for _, c := range cases {
		for _, code := range c.Codes() {
			images[code]++
		}
	}
	out := &doubtsReport{Doubted: statistics.ShareOf(cases, func(c *caseScore) bool { return c.Doubted })}
	for code, n := range images {
		out.Codes = append(out.Codes, CodeCount{code, n})
	}
	slices.SortFunc(out.Codes, func(a, b CodeCount) int { return cmp.Or(b.Images-a.Images, cmp.Compare(a.Code, b.Code)) })
	return out
}

func (r *doubtsReport) table() report.Table {
	t := report.Table{Title: "Doubts", Columns: report.Columns("", "images")}
	t.Add("doubted", r.Doubted)
	for _, n := range r.Codes {
		t.Add("  "+n.Code, n.Images)
	}
	return t
}

// oddReport says whether the doubt score separates results that should be doubted from others.
type oddReport struct {
	Odd     int `json:"odd"`     // wrong results of -centres, and foreign pictures
	Others  int `json:"others"`  // right results of -centres, and images of -data
	Unknown int `json:"unknown"` // results without a score
	// AUROC: null if a score is unknown, or one group is empty
	AUROC *float64 `json:"auroc"`
	Low   *float64 `json:"aurocLow,omitempty"`
	High  *float64 `json:"aurocHigh,omitempty"`
}

// odd compares the scores of all pictures; nil with -data alone.
func (s *study) odd() *oddReport {
	if len(s.centred)+len(s.strange) == 0 {
		return nil
	}
	var out oddReport
	var positives, negatives []float64
	add := func(t *judgement, positive bool) {
		n, scores := &out.Others, &negatives
		if positive {
			n, scores = &out.Odd, &positives
		}
		*n++
		score, known := t.oddness()
		if !known {
			out.Unknown++
		}
		*scores = append(*scores, score)
	}
	for _, c := range s.scores {
		add(&c.judgement, false)
	}
	for _, c := range s.centred {
		add(&c.judgement, !c.Right)
	}
	for _, f := range s.strange {
		add(&f.judgement, true)
	}
	if out.Unknown == 0 {
		area := metrics.AUROC(positives, negatives)
		out.AUROC, out.Low, out.High = statistics.Defined(area.Mean), area.Low, area.High
	}
	return &out
}

func (r *oddReport) table() report.Table {
	t := report.Table{Title: "Does the doubt score separate wrong results and foreign pictures from the others?", Columns: report.Columns("", "AUROC", "odd", "others")}
	said := "–"
	switch {
	case r.Unknown > 0:
		said = fmt.Sprintf("– (the weights cannot tell: %d of %d results have no score)", r.Unknown, r.Odd+r.Others)
	case r.Odd == 0:
		said = "– (no result is wrong, and no picture is foreign)"
	case r.Others == 0:
		said = "– (every result is wrong, or its picture is foreign)"
	case r.AUROC != nil:
		said = report.Plain(&metric.Interval{Mean: *r.AUROC, Low: r.Low, High: r.High}, 1, 3)
	}
	t.Add("doubt score", said, r.Odd, r.Others)
	return t
}

// riskReport says how soft Dice rises when doubted images of -data are left out. An image's soft
// Dice is the mean over its marked structures.
type riskReport struct {
	All        *metric.Interval `json:"softDice"`           // of all images
	NotDoubted *metric.Interval `json:"softDiceNotDoubted"` // null if all are doubted
	Kept       statistics.Share `json:"notDoubted"`
	// Unknown: images without a score; with any there is no curve
	Unknown int                 `json:"unknown"`
	Area    *float64            `json:"area"`            // under the curve: the mean of its points
	Curve   []metrics.RiskPoint `json:"curve,omitempty"` // from the least odd image to all images
}

// softDice is the mean of the last recurrence over the marked structures; NaN without any. A
// structure whose every mark is empty counts only where all of them are: an empty mask of it would
// raise the mean by 100 that no outline has earned.
func (c *caseScore) softDice() float64 {
	marked := statistics.Filter(c.Classes, func(class *classScore) bool { return class != nil })
	if shown := statistics.Filter(marked, func(class *classScore) bool { return !class.Unmarked }); len(shown) > 0 {
		marked = shown
	}
	return metric.Mean(statistics.Values(marked, func(class *classScore) float64 { return class.SoftDice[len(class.SoftDice)-1] }))
}

// risks gathers the images with a marked structure; nil without any.
func risks(cases []*caseScore) *riskReport {
	cases = statistics.Filter(cases, func(c *caseScore) bool { return !math.IsNaN(c.softDice()) })
	if len(cases) == 0 {
		return nil
	}
	sound := func(c *caseScore) bool { return !c.Doubted }
	out := &riskReport{
		All: statistics.MeanWithin(0, 1, cases, (*caseScore).softDice), NotDoubted: statistics.MeanWithin(0, 1, statistics.Filter(cases, sound), (*caseScore).softDice), Kept: statistics.ShareOf(cases, sound),
	}
	var images []metrics.Ranked
	for _, c := range cases {
		oddness, known := c.oddness()
		if !known {
			out.Unknown++
		}
		images = append(images, metrics.Ranked{Score: oddness, Dice: c.softDice()})
	}
	if out.Unknown == 0 {
		points, area := metrics.Curve(images)
		out.Curve, out.Area = points, &area
	}
	return out
}

// part has the means, and the curve if there is one.
func (r *riskReport) part() report.Part {
	t := report.Table{Title: "Soft Dice ×100 without the doubted images; mean over the marked structures", Columns: report.Columns("", "mean")}
	t.Add("all images", report.Plain(r.All, 100, 2))
	kept := "those not doubted"
	if r.NotDoubted != nil {
		kept += fmt.Sprintf(", %v", r.Kept)
	}
	t.Add(kept, report.Plain(r.NotDoubted, 100, 2))
	if r.Area == nil {
		t.Add("area under the risk–coverage curve", fmt.Sprintf("– (the weights cannot tell how odd a result is: %d have no score)", r.Unknown))
		return report.Part{Title: "Doubts, risk and coverage", Tables: []report.Table{t}}
	}
	t.Add("area under the risk–coverage curve", fmt.Sprintf("%.2f", 100**r.Area))
	curves := []graphs.Series{graphs.Risk(0, r.Curve)}
	if r.NotDoubted != nil {
		curves = append(curves, graphs.Curve(1, []float64{r.Kept.Share}, []float64{100 * r.NotDoubted.Mean}, true))
	}
	plot := graphs.Shares("share of images kept, the least odd first", "mean soft Dice ×100", curves...)
	return report.Part{Title: "Doubts, risk and coverage", Tables: []report.Table{t}, Plots: []report.Plot{{
		Title: "Risk and coverage", SVG: plot.Inline("risk–coverage curve"),
		Caption: "Mean soft Dice of the images that are kept. The dot: the images that are not doubted.",
	}}}
}
