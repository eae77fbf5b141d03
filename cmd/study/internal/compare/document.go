package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/output/chart"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
)

// basis says how figures and tests were computed.
func (r *Comparison) basis() string {
	tests := 0
	for _, c := range r.Classes {
		tests += len(statistics.Filter(c.Tests, func(t pairedTest) bool { return t.P != nil }))
	}
	text := "Means over images with 95 %% intervals, at the last pass of each method: over one run, the studentised bootstrap over %[1]s (2,000 samples); " +
		"over three runs or more of a method, Student's t over runs and %[1]s. One run or two say too little of another training: they have no p. "
	if tests > 0 {
		text += "p: of a difference over other runs and other %[1]s, adjusted by Holm over all tests of the figure; the page has %[2]d tests. A large p does not say that two methods are equal. "
	}
	text += "Bold: the best mean, where its difference from every other method is clear of 0, over three runs or more."
	if r.Units == r.Images {
		return fmt.Sprintf(text, "images", tests)
	}
	return fmt.Sprintf(text, "groups of images", tests)
}

// help says how to read the page.
var help = []string{
	"Soft Dice: the mean over the thresholds .1 .3 .5 .7 .9 of map and reference. Dice: of the pixels above one half.",
	"Brier score and expected calibration error (ECE, 15 bins) of an image: in the whole image, and in the band where some method's probability lies between .02 and .98. Labels do not choose the band. " +
		"Reliability and resolution are parts of the Brier score (Murphy 1973).",
	ceilingHelp,
	"IoU, sensitivity and precision: of the pixels above one half, beside the majority's. What would be a share of no pixel is not defined.",
	"HD95: the robust Hausdorff distance from the majority's outline. ASSD: the average symmetric surface distance, over the pixels of both outlines. If one of the two is empty, they are the image's diagonal (Metrics Reloaded, 2024), and the number of such images stands beside.",
	"Surface Dice: the share of the pixels of both outlines that lie within 2 pixels of the other outline (Nikolov et al. 2021).",
	"GED: generalized energy distance between the maps of raters and their marks. Dice_max: the best map for each mark. Dice_match: another map for each mark.",
	"vCDR error: absolute error of the vertical cup-to-disc ratio.",
	"d: the mean difference over the standard deviation of the images' (or groups') differences.",
	"↑ higher is better, ↓ lower is better. ▲ better and ▼ worse than the first method, at an adjusted p below 0.05 and with an interval clear of 0.",
}

var ceilingHelp = fmt.Sprintf("A perfect model knows how likely each pixel is to be marked, and not who marks it. Its map is the mean vote, and others are drawn from the raters, whole masks with replacement: "+
	"its figures are what as many raters leave to chance, from %d on. ECE and Brier score are where these raters differ. A method's band may be wider, which makes its ECE lower: beside it stands that of the perfect model in the same band. "+
	"GED is of ever more draws; maps of raters whose habits a model knows can have less. Gross errors that few raters do not show make the soft Dice too high.", metric.FewestRaters)

// Document is the comparison for people.
func (r *Comparison) Document() *report.Document {
	title := "methods compared"
	groups := r.groups()
	if len(groups) == 1 {
		title = "method"
	}
	d := &report.Document{Title: fmt.Sprintf("%s: %d %s", r.Data, len(groups), title), Lead: []string{r.subject()}, Basis: r.basis(), Help: help, Made: r.Made}
	for i, g := range groups {
		d.Key = append(d.Key, report.Entry{Name: g.name, About: r.about(g), Ink: chart.CSS(chart.Ink(i))})
	}
	for i := range r.Classes {
		if c := &r.Classes[i]; len(c.Methods) > 0 {
			d.Parts = append(d.Parts, c.part(r.Raters))
		}
	}
	if len(r.Risk) > 0 {
		d.Parts = append(d.Parts, r.riskPart())
	}
	if albums := r.albums(); len(albums) > 0 {
		d.Parts = append(d.Parts, report.Part{Title: "Images", Albums: albums, Note: fmt.Sprintf("Colours are a method's outlines of each structure, and dashed white "+
			"is the majority of %s. Numbers are soft Dice ×100, the mean of the classes.", r.referenceName())})
	}
	r.remarks(func(line string) { d.Notes = append(d.Notes, line) })
	for _, t := range r.Troubles {
		d.Files = append(d.Files, strings.TrimPrefix(t.Method+": ", ": ")+t.Text)
	}
	return d
}

// about says what a method is.
func (r *Comparison) about(g group) string {
	m := r.Methods[g.runs[0]]
	text := strings.Join(statistics.Tabulate(len(g.runs), func(i int) string { return r.Methods[g.runs[i]].Source }), ", ")
	if len(g.runs) > 1 {
		text = fmt.Sprintf("%d runs: %s", len(g.runs), text)
	}
	if m.Passes == 1 {
		text += "; one pass"
	} else {
		text += fmt.Sprintf("; %d passes", m.Passes)
	}
	if m.Heads {
		text += ", a map of each rater"
	}
	return text
}

// part has the tables and plots of a class.
func (c *classComparison) part(raters []string) report.Part {
	each := "Dice of a rater's own map with the rater's marks."
	for _, m := range c.Methods {
		if slices.ContainsFunc(m.Raters, func(d raterDice) bool { return d.Head == nil }) {
			each = "Dice of a rater's own map with the rater's marks. Pale: the method has no map of the rater, and its mask stands in."
		}
	}
	p := report.Part{
		Title: c.Class, Note: fmt.Sprintf("%d images with a reference; %d of them have a prediction of every method.", c.Images, c.Paired),
		Tables: []report.Table{c.figures()},
		Plots: []report.Plot{
			{Title: "Soft Dice over passes", SVG: c.passesPlot(), Caption: "Mean over images with its 95 % interval. Dashed: a perfect model."},
			{Title: "Reliability", SVG: c.reliabilityPlot(), Caption: "In the band, all images and runs together. On the dashed line, probabilities are right."},
			{Title: "Each rater", SVG: c.ratersPlot(raters), Caption: each + " Mind where the axis begins."},
		},
	}
	if len(c.Tests) > 0 {
		p.Tables = append(p.Tables, c.differences())
	}
	return p
}

// column is the column of a figure.
func column(f score.Figure) report.Column {
	arrow := "↑"
	if f.Lower {
		arrow = "↓"
	}
	return report.Column{Name: f.Title, Arrow: arrow, Wide: !f.Brief}
}

// figures has the means of every method.
func (c *classComparison) figures() report.Table {
	shown := c.shown()
	t := report.Table{Title: c.Class, Columns: report.Columns("method", "runs", "images")}
	for _, f := range shown {
		t.Columns = append(t.Columns, column(f))
	}
	for _, m := range c.Methods {
		row := t.Add(m.Method, m.Runs, m.Images)
		row.Ink = chart.CSS(chart.Ink(m.index))
		for _, f := range shown {
			cell := report.Cell{Text: "–"}
			if e := m.last()[f.Key]; e != nil {
				cell.Text = report.Plain(&e.Interval, f.Scale, f.Digits)
				cell.Note = m.note(f, e)
			}
			if c.Best[f.Key] == m.Method {
				cell.Mark = report.Best
			}
			row.Cells = append(row.Cells, cell)
		}
	}
	first := c.Methods[0]
	if c.perfect(score.SoftDice) == nil {
		return t
	}
	row := t.Add("a perfect model", "", first.Images)
	for _, f := range shown {
		cell := report.Cell{Text: "–"}
		if e := first.last()[f.Perfect()]; e != nil {
			cell.Text = report.Plain(&e.Interval, f.Scale, f.Digits)
		}
		if same := first.last()[score.SameBand]; f.Key == "ece_band" && same != nil {
			cell.Note = fmt.Sprintf("%.*f in the methods' band", f.Digits, f.Scale*same.Mean)
		}
		row.Cells = append(row.Cells, cell)
	}
	return t
}

// perfect is what a perfect model would have, over the images of the first method; nil if that is
// not defined.
func (c *classComparison) perfect(figure int) *metric.Interval {
	if e := c.Methods[0].last()[score.Figures[figure].Perfect()]; e != nil {
		return &e.Interval
	}
	return nil
}

// note says what else a mean is to be read with.
func (m methodSummary) note(f score.Figure, e *estimate) string {
	var notes []string
	if e.Undefined > 0 {
		notes = append(notes, fmt.Sprintf("%d not defined", e.Undefined))
	}
	if e.OneEmpty > 0 {
		notes = append(notes, fmt.Sprintf("%d the diagonal: one mask is empty", e.OneEmpty))
	}
	return strings.Join(notes, "; ")
}

// differences has those of the other methods to the first, of the figures that are tested.
func (c *classComparison) differences() report.Table {
	first := c.Methods[0].Method
	t := report.Table{Title: fmt.Sprintf("%s: less %s, in the %d images of all methods", c.Class, first, c.Paired), Columns: report.Columns("method", "runs")}
	shown := statistics.Filter(c.shown(), func(f score.Figure) bool {
		return slices.ContainsFunc(c.Tests, func(t pairedTest) bool { return t.Figure == f.Key })
	})
	for _, f := range shown {
		t.Columns = append(t.Columns, column(f))
	}
	for _, m := range c.Methods[1:] {
		row := t.Add(m.Method, c.runs(m))
		row.Ink = chart.CSS(chart.Ink(m.index))
		for _, f := range shown {
			row.Cells = append(row.Cells, c.Test(m.Method, f.Key).cell(f))
		}
	}
	return t
}

// oneRun marks differences of which nobody knows whether another training has them.
const oneRun = "one run"

// runs is the number of runs of a method that stand beside those of the first, in words for one.
func (c *classComparison) runs(m methodSummary) string {
	if fewer := min(m.Runs, c.Methods[0].Runs); fewer > 1 {
		return fmt.Sprint(fewer)
	}
	return oneRun
}

// cell is a difference with its p-value; a dash for nil.
func (t *pairedTest) cell(f score.Figure) report.Cell {
	if t == nil {
		return report.Cell{Text: "–"}
	}
	cell := report.Cell{Text: report.Signed(&t.Difference.Interval, f.Scale, f.Digits)}
	if d := t.Difference.Effect; !math.IsNaN(d) {
		cell.Note = fmt.Sprintf("d %+.2f", d)
	}
	if t.Holm == nil {
		return cell
	}
	cell.P = display.PValue(*t.Holm)
	switch better := t.Difference.Mean > 0 != f.Lower; {
	case *t.Holm >= .05 || !t.Difference.Clear():
	case better:
		cell.Mark = report.Better
	default:
		cell.Mark = report.Worse
	}
	return cell
}

// riskPart says whether the methods know when they are wrong.
func (r *Comparison) riskPart() report.Part {
	t := report.Table{Title: "Area under the risk–coverage curve", Columns: report.Columns("method", "mean soft Dice ×100", "in any order", "AURC ×100, of 1 − soft Dice")}
	for _, one := range r.Risk {
		area, chance := 100*one.Area, 100*one.Curve[len(one.Curve)-1].Dice // all images are the last point
		t.Add(one.Method, fmt.Sprintf("%.2f", area), fmt.Sprintf("%.2f", chance), fmt.Sprintf("%.2f", 100-area)).Ink = chart.CSS(chart.Ink(one.index))
	}
	return report.Part{
		Title: "Does a method know when it is wrong?", Tables: []report.Table{t},
		Note: "Images are kept in the order of the Dice that a map expects of itself. A curve that falls to the right says that a method leaves out its worst images first.",
		Plots: []report.Plot{{
			Title: "Risk and coverage", SVG: r.riskPlot(), Caption: "Soft Dice, mean of the classes. Binary masks state nothing, and their curve is flat.",
		}},
	}
}

// albums are the galleries that have images.
func (r *Comparison) albums() (list []report.Album) {
	var structures []report.Entry
	for i, c := range r.Classes {
		structures = append(structures, report.Entry{Name: c.Class, Ink: chart.CSS(picture.Structures[i%len(picture.Structures)])})
	}
	first, g := r.Methods[0].Name, r.galleries
	if g == nil {
		return nil
	}
	for _, album := range []report.Album{
		{Title: "Lowest soft Dice, mean of the methods", Exhibits: g.lowest.Exhibits},
		{Title: "Highest soft Dice, mean of the methods", Exhibits: g.highest.Exhibits},
		{Title: first + " is ahead of the best other", Exhibits: g.gains.Exhibits},
		{Title: first + " is behind the best other", Exhibits: g.losses.Exhibits},
	} {
		if album.Key = structures; len(album.Exhibits) > 0 {
			list = append(list, album)
		}
	}
	return list
}
