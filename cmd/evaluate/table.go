package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"mrprism/internal/metric"
	"mrprism/weights"
)

// table prints the report for people. Shares are in percent.
func (r *report) table(w io.Writer) error {
	t := &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), nil}
	whose := r.Weights.Title
	if !strings.HasPrefix(whose, r.Weights.Name) { // weights without a title are called by their name
		whose = r.Weights.Name + ", " + whose
	}
	t.line("%s", whose)
	t.line("%s, %s", r.Device, r.Precision)
	t.data(r)
	if r.Centres != nil {
		t.centres(r.Centres)
	}
	if r.Foreign != nil {
		t.foreign(r.Foreign)
	}
	if r.Odd != nil {
		t.odd(r.Odd)
	}
	t.flush()
	return t.err
}

// data prints what was scored on -data, if anything was.
func (t *table) data(r *report) {
	if r.Data != "" {
		t.line("%s, %s: %d images, region %s", r.Data, r.Split, r.Images, r.Region)
	}
	if r.Of > 0 {
		t.line("stopped before all %d images were scored", r.Of)
	}
	if r.NotFound > 0 {
		t.line("nothing was found in %d of them; they are scored as empty masks", r.NotFound)
	}
	if r.NotFoundBy > 0 {
		t.line("%s found nothing in %d of them; they are scored as empty masks too", r.Against.Name, r.NotFoundBy)
	}
	if r.Doubts != nil {
		t.doubts(r.Doubts)
	}
	for _, c := range r.Classes {
		t.class(r, c)
	}
	if r.Ratio != nil {
		t.ratio(r.Ratio)
	}
	if r.Intervals != nil {
		t.coverages(r)
	}
	if r.Risk != nil {
		t.risk(r.Risk)
	}
	if r.Changes != nil {
		t.changes(r)
	}
}

type table struct {
	*tabwriter.Writer
	err error
}

func (t *table) line(format string, args ...any) {
	if _, err := fmt.Fprintf(t.Writer, format+"\n", args...); err != nil && t.err == nil {
		t.err = err
	}
}

// title ends the columns above it.
func (t *table) title(format string, args ...any) {
	t.flush()
	t.line("\n"+format, args...)
	t.flush()
}

func (t *table) flush() {
	if err := t.Flush(); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *table) class(r *report, c classReport) {
	if c.Images == 0 {
		t.title("%s: nobody has marked it", c.Class)
		return
	}
	t.title("%s, %d images: soft Dice ×100 against the mean vote", c.Class, c.Images)
	for i, s := range c.SoftDice {
		t.line("Rec%d\t%s", i, plain(s, 100, 2))
	}
	if c.Gain != nil {
		t.line("Rec%d − Rec0\t%s\tWilcoxon p = %.2g", r.Recurrences, signed(*c.Gain, 100, 2), *c.GainP)
	}
	if c.Against != nil {
		t.line("%s, Rec0\t%s", r.Against.Name, plain(*c.Against, 100, 2))
		t.line("Rec%d − that\t%s\tWilcoxon p = %.2g", r.Recurrences, signed(*c.OverAgainst, 100, 2), *c.OverP)
	}
	if c.Truth != nil {
		t.truth(r, c)
	}
	if k := c.Calibration; k != nil {
		t.title("%s: calibration of Rec%d inside the union of all marks (in the whole image)", c.Class, r.Recurrences)
		t.line("expected calibration error, 15 bins\t%.4f\t(%.4f)", k.ECE15, k.Whole)
		t.line("expected calibration error, 50 bins\t%.4f\t", k.ECE50)
		t.line("Brier\t%.4f\t(%.4f)", k.Brier, k.WholeSq)
	}
	t.agreement(r, c.Class, c.Agreement)
	if c.Heads != nil {
		t.heads(r, c)
	}
	if c.Set != nil {
		t.set(c.Class, c.Set)
	}
	if c.Marks != nil {
		t.marks(c.Class, c.Marks)
	}
	if len(c.Response) > 0 {
		t.responses(c)
	}
}

func (t *table) heads(r *report, c classReport) {
	t.title("%s: Dice ×100 of each head (row) with each %s (column)", c.Class, map[bool]string{true: "level", false: "rater"}[r.Labels == weights.LabelsAgreementLevels])
	t.line("\t%s", strings.Join(r.Raters, "\t"))
	for i, row := range c.Heads.Dice {
		cells := []string{r.Raters[i]}
		for _, d := range row {
			if d == nil {
				cells = append(cells, "–")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.1f", 100**d))
		}
		t.line("%s", strings.Join(cells, "\t"))
	}
	t.flush()
	for _, part := range []struct {
		name  string
		value *metric.Interval
		show  func(metric.Interval, float64, int) string
	}{
		{"with its own", c.Heads.Own, plain}, {"with the others'", c.Heads.Others, plain}, {"own − others", c.Heads.Margin, signed},
		{"among the marks themselves", c.Heads.Raters, plain},
	} {
		if part.value != nil {
			t.line("%s\t%s", part.name, part.show(*part.value, 100, 1))
		}
	}
}

func (t *table) responses(c classReport) {
	t.title("%s: one rater has all the weight", c.Class)
	t.line("\tarea moves, %%\tthe rater's own area, %%\tDice ×100 with the rater, equal weights\talone\tgain")
	for _, r := range c.Response {
		t.line("%s\t%s\t%+.1f\t%.1f\t%.1f\t%s", r.Rater, signed(r.Area, 100, 1), 100*r.Own.Mean, 100*r.Before.Mean, 100*r.After.Mean, signed(r.Gain, 100, 2))
	}
	t.flush()
	if c.Follows != nil {
		t.line("The mask's area makes %.0f %% of the move to the rater's own.", 100**c.Follows)
	}
}

// plain and signed write an interval, scaled.
func plain(i metric.Interval, scale float64, digits int) string {
	return bracketed("%.*f", i, scale, digits)
}

func signed(i metric.Interval, scale float64, digits int) string {
	return bracketed("%+.*f", i, scale, digits)
}

// bracketed is the mean and the interval, where there is one, in a form; what would be shown as −0 is 0.
func bracketed(form string, i metric.Interval, scale float64, digits int) string {
	number := func(v float64) string {
		if v *= scale; math.Abs(v) < 0.5*math.Pow10(-digits) {
			v = 0
		}
		return fmt.Sprintf(form, digits, v)
	}
	if i.Low == nil {
		return number(i.Mean)
	}
	return number(i.Mean) + " [" + number(*i.Low) + ", " + number(*i.High) + "]"
}
