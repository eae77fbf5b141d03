package evaluate

import (
	"io"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/metric"
	"mrprism/internal/study/report"
)

// table is the report for people. Shares are in percent.
type table struct{ *command.Table }

// Table prints the report.
func (r *Report) Table(w io.Writer) error {
	t := table{command.NewTable(2, 0)}
	title := r.Weights.Title
	if !strings.HasPrefix(title, r.Weights.Name) { // a title need not contain the name
		title = r.Weights.Name + ", " + title
	}
	t.Line("%s", title)
	t.Line("%s, %s", r.Device, r.Precision)
	t.data(r)
	report.IfAny(r.Centres, t.centres)
	report.IfAny(r.Foreign, t.foreign)
	report.IfAny(r.Odd, t.odd)
	for _, compared := range r.Against {
		t.Break()
		t.Line("")
		compared.Document().Lines(t.Table)
	}
	return t.Print(w)
}

// data prints the scores of -data.
func (t *table) data(r *Report) {
	if r.Data != "" {
		t.Line("%s, %s: %d images, region %s", r.Data, r.Split, r.Images, r.Region)
	}
	if r.Of > 0 {
		t.Line("stopped before all %d images were scored", r.Of)
	}
	if r.NotFound > 0 {
		t.Line("nothing was found in %d of them; they are scored as empty masks", r.NotFound)
	}
	report.IfAny(r.Doubts, t.doubts)
	for _, c := range r.Classes {
		t.class(r, c)
	}
	report.IfAny(r.Ratio, t.ratio)
	if r.Intervals != nil {
		t.coverages(r)
	}
	t.words("", r.Words)
	report.IfAny(r.Risk, t.risk)
	if r.Changes != nil {
		t.changes(r)
	}
}

// class prints everything about one structure.
func (t *table) class(r *Report, c classReport) {
	if c.Images == 0 {
		t.Title("%s: nobody has marked it", c.Class)
		return
	}
	t.Title("%s, %d images: soft Dice ×100 against the mean vote", c.Class, c.Images)
	for i, s := range c.SoftDice {
		t.Line("Rec%d\t%s", i, report.Plain(s, 100, 2))
	}
	switch {
	case c.Unmarked == c.Images:
		t.Line("every mark is empty in all images: the figures say how far the mask is empty too (above one half in %d), and not how good it is", c.BothEmpty)
	case c.Unmarked > 0:
		t.Line("Rec%d, the %d images with marks\t%s", r.Recurrences, c.Images-c.Unmarked, report.Plain(c.Marked, 100, 2))
		t.Line("in the other %d every mark is empty: a threshold that the mask does not reach counts 100; above one half it is empty in %d", c.Unmarked, c.BothEmpty)
	}
	if c.Gain != nil {
		t.Line("Rec%d − Rec0\t%s\tWilcoxon p = %.2g", r.Recurrences, report.Signed(c.Gain, 100, 2), *c.GainP)
	}
	if c.Truth != nil {
		t.truth(r, c)
	}
	if k := c.Calibration; k != nil {
		t.Title("%s: calibration of Rec%d inside the union of all marks (in the whole image)", c.Class, r.Recurrences)
		t.Line("expected calibration error, 15 bins\t%.4f\t(%.4f)", k.ECE15, k.Whole)
		t.Line("expected calibration error, 50 bins\t%.4f\t", k.ECE50)
		t.Line("Brier\t%.4f\t(%.4f)", k.Brier, k.WholeSq)
	}
	t.agreement(r, c.Class, c.Agreement)
	if c.Heads != nil {
		t.heads(r, c)
	}
	report.IfAny(c.Set, func(s *setReport) { t.set(c.Class, s) })
	report.IfAny(c.Marks, func(m *marksReport) { t.marks(c.Class, m) })
	if len(c.Response) > 0 {
		t.responses(c)
	}
}

// row prints a name and an interval in a form, plain or signed; nothing if there is no interval.
func (t *table) row(name string, i *metric.Interval, form func(*metric.Interval, float64, int) string, scale float64, digits int) {
	if i != nil {
		t.Line("%s\t%s", name, form(i, scale, digits))
	}
}
