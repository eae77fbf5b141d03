package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/chart"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
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

func (t *table) doubts(r *doubtsReport) {
	t.Line("doubted\t%v", r.Doubted)
	for _, n := range r.Codes {
		t.Line("  %s\t%d", n.Code, n.Images)
	}
	t.Break()
}

// oddReport says whether the doubt score separates results that should be doubted from others.
type oddReport struct {
	Odd     int      `json:"odd"`     // wrong results of -centres, and foreign pictures
	Others  int      `json:"others"`  // right results of -centres, and images of -data
	Unknown int      `json:"unknown"` // results without a score
	AUROC   *float64 `json:"auroc"`   // null if a score is unknown, or one group is empty
}

// odd compares the scores of all pictures; nil with -data alone.
func (s *scorer) odd() *oddReport {
	if len(s.centred)+len(s.foreign) == 0 {
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
	for _, c := range s.cases {
		add(&c.judgement, false)
	}
	for _, c := range s.centred {
		add(&c.judgement, !c.Right)
	}
	for _, f := range s.foreign {
		add(&f.judgement, true)
	}
	if out.Unknown == 0 {
		out.AUROC = statistics.Defined(metric.AUROC(positives, negatives))
	}
	return &out
}

func (t *table) odd(r *oddReport) {
	t.Title("Does the doubt score separate wrong results and foreign pictures from the others?")
	switch {
	case r.Unknown > 0:
		t.Line("The weights cannot tell: %d of %d results have no score.", r.Unknown, r.Odd+r.Others)
	case r.Odd == 0:
		t.Line("There is nothing to separate: no result is wrong, and no picture is foreign.")
	case r.Others == 0:
		t.Line("There is nothing to separate: every result is wrong, or its picture is foreign.")
	default:
		t.Line("AUROC\t%.3f\t%d odd, %d others", *r.AUROC, r.Odd, r.Others)
	}
}

// riskReport says how soft Dice rises when doubted images of -data are left out. An image's soft
// Dice is the mean over its marked structures.
type riskReport struct {
	All        *metric.Interval `json:"softDice"`           // of all images
	NotDoubted *metric.Interval `json:"softDiceNotDoubted"` // null if all are doubted
	Kept       statistics.Share `json:"notDoubted"`
	// Unknown: images without a score; with any there is no curve
	Unknown int               `json:"unknown"`
	Area    *float64          `json:"area"`            // under the curve: the mean of its points
	Curve   []score.RiskPoint `json:"curve,omitempty"` // from the least odd image to all images
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
		All: statistics.MeanOver(cases, (*caseScore).softDice), NotDoubted: statistics.MeanOver(statistics.Filter(cases, sound), (*caseScore).softDice), Kept: statistics.ShareOf(cases, sound),
	}
	var images []score.Ranked
	for _, c := range cases {
		oddness, known := c.oddness()
		if !known {
			out.Unknown++
		}
		images = append(images, score.Ranked{Score: oddness, Dice: c.softDice()})
	}
	if out.Unknown == 0 {
		points, area := score.Curve(images)
		out.Curve, out.Area = points, &area
	}
	return out
}

func (t *table) risk(r *riskReport) {
	t.Title("Soft Dice ×100 without the doubted images; mean over the marked structures")
	t.Line("all images\t%s", report.Plain(r.All, 100, 2))
	if r.NotDoubted != nil {
		t.Line("those not doubted, %v\t%s", r.Kept, report.Plain(r.NotDoubted, 100, 2))
	} else {
		t.Line("those not doubted\t–")
	}
	if r.Area != nil {
		t.Line("area under the risk–coverage curve\t%.2f", 100**r.Area)
	} else {
		t.Line("area under the risk–coverage curve\t–\tthe weights cannot tell how odd a result is (%d have no score)", r.Unknown)
	}
}

// fewDots is the largest number of points that the curve marks one by one.
const fewDots = 60

// riskSVG draws the curve.
func (r *Report) riskSVG(w io.Writer) error {
	if r.Risk == nil || r.Risk.Curve == nil {
		return errors.New("there is no risk–coverage curve: the weights cannot tell how odd a result is, or no image was scored")
	}
	line := chart.Line{Name: "least odd", Dots: len(r.Risk.Curve) <= fewDots}
	for _, p := range r.Risk.Curve {
		line.X, line.Y = append(line.X, p.Share), append(line.Y, 100*p.Dice)
	}
	lines := []chart.Line{line}
	if kept := r.Risk.NotDoubted; kept != nil {
		lines = append(lines, chart.Line{Name: "not doubted", X: []float64{r.Risk.Kept.Share}, Y: []float64{100 * kept.Mean}, Dots: true})
	}
	return chart.Chart{
		Title: r.Weights.Title, X: "share of images kept",
		Subtitle: fmt.Sprintf("%s, %s: %d images, the least odd kept first; area under the curve %.2f", r.Data, r.Split, len(r.Risk.Curve), 100**r.Risk.Area),
		Panels:   []chart.Panel{{Title: "Mean soft Dice ×100 of the images kept", Lines: lines}},
	}.Write(w)
}
