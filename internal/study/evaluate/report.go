package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/compare"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
	"mrprism/model"
	"mrprism/weights"
)

// Report holds all figures, as the JSON has them. Intervals are of the mean over images; shares are
// 0..1. From Data to Cases everything is empty without -data.
type Report struct {
	Weights     source          `json:"weights"`
	Device      string          `json:"device"`
	Precision   model.Precision `json:"precision"`
	Raters      []string        `json:"raters"`
	Labels      string          `json:"labels"`
	Recurrences int             `json:"recurrences"`
	Data        string          `json:"data,omitempty"`
	Split       string          `json:"split,omitempty"` // test, validation, train or all
	Lists       []string        `json:"lists,omitempty"` // the splits of the data, by sizes and a sum; none: every fifth is held out
	Region      string          `json:"roi,omitempty"`
	Images      int             `json:"images"`
	// Of: images of the split, if the program was stopped before it scored all
	Of        int              `json:"of,omitempty"`
	NotFound  int              `json:"notFound"` // scored as empty masks
	Doubts    *doubtsReport    `json:"doubts,omitempty"`
	Classes   []classReport    `json:"classes,omitempty"`
	Ratio     *ratioReport     `json:"verticalRatio,omitempty"`
	Intervals *coveragesReport `json:"intervals,omitempty"`
	Risk      *riskReport      `json:"riskCoverage,omitempty"`
	Words     []wordsReport    `json:"trust,omitempty"` // of -data
	Changes   []changeReport   `json:"changes,omitempty"`
	Steady    *steadyReport    `json:"ratioUnderExposure,omitempty"`
	Cases     []*caseScore     `json:"cases,omitempty"`
	Centres   *centresReport   `json:"centres,omitempty"`
	Foreign   *foreignReport   `json:"foreign,omitempty"`
	// Against: this model beside the weights of -against, by the mean vote and, if there is one, by
	// the truth
	Against []*compare.Comparison `json:"against,omitempty"`
	// Odd: of all pictures, with -centres or -foreign
	Odd *oddReport `json:"doubtScore,omitempty"`

	compared []*compare.Comparison // by the mean vote; by the truth, if there is one
	worst    report.Album          // of -centres
}

// source names weights.
type source struct {
	Given  string `json:"given"`
	Name   string `json:"name"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
}

// classReport is one structure over all images in which it is marked.
type classReport struct {
	Class       string             `json:"class"`
	Images      int                `json:"images"`
	SoftDice    []*metric.Interval `json:"softDice"`        // Rec0 … RecN
	Unmarked    int                `json:"unmarked"`        // of Images, those in which every mark is empty
	BothEmpty   int                `json:"bothEmpty"`       // of these, those whose RecN has no pixel above one half
	Marked      *metric.Interval   `json:"softDiceMarked"`  // RecN in the others; null without any
	Gain        *metric.Interval   `json:"gain,omitempty"`  // RecN less Rec0
	GainP       *float64           `json:"gainP,omitempty"` // of Wilcoxon's signed-rank test
	Truth       *truthReport       `json:"truth,omitempty"`
	Calibration *calibrationReport `json:"calibration,omitempty"`
	Heads       *headsReport       `json:"heads,omitempty"`
	Response    []responseReport   `json:"response,omitempty"` // by rater
	Agreement   *agreementReport   `json:"agreement,omitempty"`
	Set         *setReport         `json:"set,omitempty"`
	Marks       *marksReport       `json:"marks,omitempty"`
	// Follows: slope of the mask's change of area over the raters': 1 follows, 0 does not move
	Follows *float64 `json:"follows,omitempty"`
}

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

// calibrationReport has figures inside the union of all marks and in the whole image, over the
// pixels of all images.
type calibrationReport struct {
	ECE15   float64 `json:"ece15"` // with 15 bins
	ECE50   float64 `json:"ece50"`
	Brier   float64 `json:"brier"`
	Whole   float64 `json:"ece15WholeImage"`
	WholeSq float64 `json:"brierWholeImage"`
}

// report gathers the scores. If the program was stopped, they are of a part of the input. The error
// names what could not be scored.
func (s *study) report() (r *Report, err error) {
	m := s.session.Model
	r = &Report{
		Weights: source{s.Weights, m.Metadata.Name, m.Label(), m.SHA256}, Device: s.adapter, Precision: s.Precision, Raters: m.Metadata.Raters, Labels: m.Metadata.Labels,
		Recurrences: s.Recurrences, Centres: s.centresReport(), Foreign: s.foreignReport(), Odd: s.odd(), worst: s.farthest.Album,
	}
	if s.data != nil {
		err = s.dataReport(r)
	}
	return r, err
}

// dataReport gathers the scores of -data.
func (s *study) dataReport(r *Report) error {
	r.Data, r.Split, r.Region, r.Lists, r.Images, r.Cases = s.Images.Data, s.On, s.Region, s.data.Splits, len(s.scores), s.scores
	r.NotFound = len(statistics.Filter(s.scores, func(c *caseScore) bool { return !c.Found }))
	if len(s.scores) < len(s.cases) {
		r.Of = len(s.cases)
	}
	for k := range s.data.Classes {
		r.Classes = append(r.Classes, s.classReport(k))
	}
	r.Doubts, r.Ratio, r.Intervals, r.Risk, r.Words = doubts(s.scores), ratios(s.scores), s.coverages(), risks(s.scores), s.caseWords()
	if s.Changed {
		r.Changes, r.Steady = s.changeReports(), steadyRatios(s.dataEyes())
	}
	var failed error
	for _, side := range s.compared.Sides {
		compared, err := s.compared.Comparison(side)
		if compared == nil {
			continue // nobody marked anything, or there is no truth
		}
		r.compared, failed = append(r.compared, compared), err
	}
	if s.Against != "" {
		r.Against = r.compared
	}
	return failed
}

// marked are the scores of a structure in the images in which somebody has marked it.
func (s *study) marked(k int) []*classScore {
	return statistics.NonNil(s.scores, func(c *caseScore) *classScore { return c.Classes[k] })
}

func (s *study) classReport(k int) classReport {
	out := classReport{Class: s.data.Classes[k]}
	scores := s.marked(k)
	if out.Images = len(scores); out.Images == 0 {
		return out
	}
	n := s.Recurrences
	out.SoftDice = statistics.Tabulate(n+1, func(i int) *metric.Interval {
		return statistics.MeanOver(scores, func(c *classScore) float64 { return c.SoftDice[i] })
	})
	shown := statistics.Filter(scores, func(c *classScore) bool { return !c.Unmarked })
	out.Unmarked, out.BothEmpty = len(scores)-len(shown), len(statistics.Filter(scores, func(c *classScore) bool { return c.BothEmpty }))
	out.Marked = statistics.MeanOver(shown, func(c *classScore) float64 { return c.SoftDice[n] })
	if n > 0 {
		out.Gain, out.GainP = statistics.Tested(scores, func(c *classScore) float64 { return c.SoftDice[n] - c.SoftDice[0] })
	}
	out.Truth = truths(scores)
	if c := s.compared.Sides[0].Pooled[0][k]; !math.IsNaN(c.Union.ECE()) {
		out.Calibration = &calibrationReport{c.Union.ECE(), c.Fine.ECE(), c.Union.Brier(), c.Whole.ECE(), c.Whole.Brier()}
	}
	out.Set, out.Agreement = setReports(scores)
	out.Response, out.Follows = responses(s.data.Raters, scores)
	if scores[0].Heads != nil {
		out.Heads, out.Marks = heads(scores), s.marksReport(k)
	}
	return out
}

// truths gathers the scores beside the truth; nil if no image has one.
func truths(scores []*classScore) *truthReport {
	with := statistics.Filter(scores, func(c *classScore) bool { return c.Truth != nil })
	if len(with) == 0 {
		return nil
	}
	last := len(with[0].Truth) - 1
	over := func(of func(truthScore) float64) (out truthComparison) {
		out.Passes = statistics.Tabulate(last+1, func(i int) *metric.Interval {
			return statistics.MeanOver(with, func(c *classScore) float64 { return of(c.Truth[i]) })
		})
		if last > 0 {
			out.Gain = statistics.MeanOver(with, func(c *classScore) float64 { return of(c.Truth[last]) - of(c.Truth[0]) })
		}
		return out
	}
	return &truthReport{len(with), over(func(s truthScore) float64 { return s.Dice }), over(func(s truthScore) float64 { return statistics.Number(s.Brier) })}
}

// Document is the report for people: what evaluate compare says of the maps, and what it does not.
func (r *Report) Document() *report.Document {
	title := r.Weights.Title
	if !strings.HasPrefix(title, r.Weights.Name) { // a title need not contain the name
		title = r.Weights.Name + ", " + title
	}
	d := &report.Document{Title: "Scores of " + r.Weights.Name}
	for i, c := range r.compared {
		of := c.Document()
		if i == 0 {
			of.Title, d = d.Title, of
			continue
		}
		for _, p := range of.Parts {
			if !slices.ContainsFunc(r.Classes, func(c classReport) bool { return c.Class == p.Title }) {
				continue // pictures and the curve are those of the mean vote
			}
			for j := range p.Tables {
				p.Tables[j].Title += ", against the truth"
			}
			p.Title += ", against the truth"
			d.Parts = append(d.Parts, p)
		}
	}
	d.Lead = append([]string{title, fmt.Sprintf("%s, %s", r.Device, r.Precision)}, r.lead()...)
	for _, c := range r.Classes {
		at := slices.IndexFunc(d.Parts, func(p report.Part) bool { return p.Title == c.Class })
		if c.Images == 0 {
			d.Notes = append(d.Notes, c.Class+": nobody has marked it")
			continue
		}
		if at < 0 {
			at, d.Parts = len(d.Parts), append(d.Parts, report.Part{Title: c.Class})
		}
		d.Parts[at].Tables = append(d.Parts[at].Tables, r.tables(&c)...)
	}
	return r.whole(d)
}

// lead says what was scored.
func (r *Report) lead() (lines []string) {
	if r.Data != "" {
		lines = append(lines, fmt.Sprintf("%s, %s: %d images, region %s, against the raters' mean vote", r.Data, r.Split, r.Images, r.Region))
	}
	if r.Of > 0 {
		lines = append(lines, fmt.Sprintf("only %d of %d images were scored", r.Images, r.Of))
	}
	if r.NotFound > 0 {
		lines = append(lines, fmt.Sprintf("nothing was found in %d of them; they are scored as empty masks", r.NotFound))
	}
	return lines
}

// whole adds what is not about one structure.
func (r *Report) whole(d *report.Document) *report.Document {
	var pictures []report.Part // they stand last
	if at := slices.IndexFunc(d.Parts, func(p report.Part) bool { return len(p.Albums) > 0 }); at >= 0 {
		pictures = append(pictures, d.Parts[at])
		d.Parts = slices.Delete(d.Parts, at, at+1)
	}
	measured := report.Part{Title: "Measurements and trust"}
	if r.Ratio != nil {
		measured.Tables = append(measured.Tables, r.Ratio.table())
	}
	if r.Intervals != nil {
		measured.Tables = append(measured.Tables, r.Intervals.table(r.Classes))
	}
	if measured.Tables = append(measured.Tables, wordsTables("", r.Words)...); len(measured.Tables) > 0 {
		d.Parts = append(d.Parts, measured)
	}
	if r.Doubts != nil {
		risk := report.Part{Title: "Doubts"}
		if r.Risk != nil {
			risk = r.Risk.part()
		}
		risk.Tables = append([]report.Table{r.Doubts.table()}, risk.Tables...)
		d.Parts = append(d.Parts, risk)
	}
	if r.Changes != nil {
		d.Parts = append(d.Parts, r.changesPart())
	}
	if r.Centres != nil {
		d.Parts = append(d.Parts, r.Centres.part())
	}
	if r.Foreign != nil {
		d.Parts = append(d.Parts, r.Foreign.part())
	}
	if r.Odd != nil {
		d.Parts = append(d.Parts, report.Part{Title: "The doubt score", Tables: []report.Table{r.Odd.table()}})
	}
	if len(r.worst.Exhibits) > 0 {
		r.worst.Title = "Wrong results first, then the farthest from the centre"
		pictures = append(pictures, report.Part{
			Title: "Photographs", Albums: []report.Album{r.worst}, Note: "Colours are the outlines of each structure, and dashed white is the circle of the CSV.",
		})
	}
	d.Parts = append(d.Parts, pictures...)
	return d
}

// tables are a structure's figures beside those of the comparison.
func (r *Report) tables(c *classReport) (all []report.Table) {
	n := r.Recurrences
	t := report.Table{Title: fmt.Sprintf("%s, %d images: passes, calibration over all pixels, and how far the raters agree", c.Class, c.Images), Columns: report.Columns("", "mean", "not defined in")}
	row := func(name string, i *metric.Interval, form func(*metric.Interval, float64, int) string, scale float64, digits int) {
		if i != nil {
			t.Add(name, form(i, scale, digits), "")
		}
	}
	for i, dice := range c.SoftDice {
		row(fmt.Sprintf("soft Dice ×100 against the mean vote, Rec%d", i), dice, report.Plain, 100, 2)
	}
	switch {
	case c.Unmarked == c.Images:
		t.Add("every mark is empty in all images: the figures say how far the mask is empty too, and not how good it is", "", "")
	case c.Unmarked > 0:
		row(fmt.Sprintf("  Rec%d in the %d images with marks", n, c.Images-c.Unmarked), c.Marked, report.Plain, 100, 2)
	}
	if c.Unmarked > 0 {
		t.Add("  images in which every mark is empty (a threshold that the mask does not reach counts 100)", c.Unmarked, "")
		t.Add("  of these, those whose mask is empty above one half", c.BothEmpty, "")
	}
	if c.Gain != nil {
		t.Add(fmt.Sprintf("  Rec%d − Rec0", n), report.Cell{Text: report.Signed(c.Gain, 100, 2), P: report.PValue(*c.GainP)}, "")
	}
	if c.Truth != nil {
		for _, one := range []struct {
			name string
			truthComparison
		}{{"Dice ×100", c.Truth.Dice}, {"Brier ×100 inside the union of truth and marks", c.Truth.Brier}} {
			for i, v := range one.Passes {
				row(fmt.Sprintf("%s, beside the truth in %d images, Rec%d", one.name, c.Truth.Images, i), v, report.Plain, 100, 2)
			}
			row(fmt.Sprintf("  Rec%d − Rec0", n), one.Gain, report.Signed, 100, 2)
		}
	}
	if k := c.Calibration; k != nil {
		t.Add("expected calibration error, 15 bins: inside the union of all marks (in the whole image)", fmt.Sprintf("%.4f (%.4f)", k.ECE15, k.Whole), "")
		t.Add("  50 bins", fmt.Sprintf("%.4f", k.ECE50), "")
		t.Add("Brier score: inside the union of all marks (in the whole image)", fmt.Sprintf("%.4f (%.4f)", k.Brier, k.WholeSq), "")
	}
	a := c.Agreement
	t.Add("95 % Hausdorff distance from the majority, pixels; not defined if one of the two masks is empty", report.Plain(a.Hausdorff, 1, 1), a.Undefined)
	t.Add("Fleiss' kappa of the raters inside the union of all marks; not if marks are equal, or there is one", report.Signed(a.Kappa, 1, 2), a.KappaUndefined)
	t.Add("  in the whole image; not if marks are empty or full, or there is one", report.Signed(a.KappaWhole, 1, 2), a.WholeUndefined)
	if a.ICC != nil {
		t.Add("intraclass correlation (2,1) of the raters' areas", report.Scaled("%.2f", a.ICC, 1), "")
	}
	if h := c.Heads; h != nil {
		row("Dice ×100 of a head with its own rater", h.Own, report.Plain, 100, 1)
		row("  with the others", h.Others, report.Plain, 100, 1)
		row("  own − others", h.Margin, report.Signed, 100, 1)
		row("  among the marks themselves", h.Raters, report.Plain, 100, 1)
	}
	if c.Follows != nil {
		t.Add("move of the mask's area when one rater has all the weight, % of the move to the rater's own", report.Scaled("%.0f", c.Follows, 100), "")
	}
	all = append(all, t)
	if c.Heads != nil {
		kind := "rater"
		if r.Labels == weights.LabelsAgreementLevels {
			kind = "level"
		}
		all = append(all, c.Heads.table(c.Class, kind, r.Raters))
	}
	if c.Marks != nil {
		all = append(all, c.Marks.tables(c.Class)...)
	}
	if len(c.Response) > 0 {
		all = append(all, responsesTable(c.Class, c.Response))
	}
	return all
}
