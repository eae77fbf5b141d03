package readers

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/graphs"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/output/table"
	"mrprism/internal/study/report"
)

// Report holds all figures of "evaluate readers", as the JSON has them.
type Report struct {
	Made       *report.Origin `json:"made"`
	Images     int            `json:"images"`
	Readers    []string       `json:"readers"`
	Modalities []string       `json:"modalities"`
	Figures    []*Analysis    `json:"figures"`
	Agreement  []Agreement    `json:"agreement"`
	Counts     []Count        `json:"counts"`
	Failed     []string       `json:"failed"` // figures that cannot be computed, and why
	Notes      Notes          `json:"notes"`  // what was left out

	readings, truth *Table
}

// Agreement is how far numbers of the same images agree, patient by patient.
type Agreement struct {
	Figure string           `json:"figure"`
	Of     string           `json:"of"` // readers, modalities (with less without) or readings (second less first)
	By     string           `json:"by"` // the modality or the reader of all of these
	Images int              `json:"images"`
	ICC    *metric.Interval `json:"icc"` // ICC(2,1); null if it is not defined
	Bias   *metric.Interval `json:"bias,omitempty"`
	Limits []float64        `json:"limitsOfAgreement,omitempty"` // of Bland and Altman
}

// Count is how often and how long all readers read in a modality.
type Count struct {
	Modality string   `json:"modality"`
	Readings int      `json:"readings"` // first ones, as all that follows but Again
	Again    int      `json:"again"`
	Rejected int      `json:"rejected"`
	Timed    int      `json:"timed"`
	Mean     *float64 `json:"meanSeconds"`
	Median   *float64 `json:"medianSeconds"`
}

// New analyses readings. truth may be nil.
func New(t, truth *Table, made *report.Origin) *Report {
	r := &Report{Made: made, Images: len(t.Cases), Readers: t.Readers, Modalities: t.Modalities, Counts: t.counts(), Notes: t.Notes, readings: t, truth: truth}
	var judged []string
	if truth != nil {
		judged = statistics.Filter(truth.cells.Columns, func(column string) bool { return !slices.Contains(about, column) })
	}
	for _, column := range append(slices.Clone(judged), seconds) {
		against := map[bool]*Table{true: truth}[column != seconds]
		if !slices.Contains(t.cells.Columns, column) {
			if against != nil {
				r.Failed = append(r.Failed, fmt.Sprintf("%s: %s lacks this column of %s", column, t.name, truth.name))
			}
		} else if a, err := Analyse(t, against, column); err == nil {
			r.Figures = append(r.Figures, a)
		} else if against != nil {
			r.Failed = append(r.Failed, err.Error())
		}
	}
	for _, column := range t.cells.Columns {
		if slices.Contains(judged, column) || column == "ratio" || strings.HasPrefix(column, "area_") {
			r.Agreement = append(r.Agreement, t.agreement(column)...)
		}
	}
	if truth != nil {
		maps.Copy(r.Notes, truth.Notes)
	}
	maps.DeleteFunc(r.Notes, func(_ string, items []string) bool { return len(items) == 0 })
	return r
}

// about are columns that are no figures.
var about = []string{"reader", "case", "group", "modality", "arm", "order", "repeat", "decision", "reason", "trust", seconds, "seconds_drawing", "seconds_answering"}

// agreement is that of all readers, of each reader's modalities, and of his two readings.
func (t *Table) agreement(column string) (all []Agreement) {
	first, second := t.values(column, false), t.values(column, true)
	add := func(of, by string, columns ...[]float64) {
		a, rows, images := Agreement{Figure: column, Of: of, By: by}, [][]float64(nil), []int(nil)
		for i := range t.Cases {
			if row := statistics.Tabulate(len(columns), func(j int) float64 { return columns[j][i] }); !slices.ContainsFunc(row, math.IsNaN) {
				rows, images = append(rows, row), append(images, i)
			}
		}
		units, n := t.units(images)
		differences := make([][]float64, n)
		for k, row := range rows {
			differences[units[k]-1] = append(differences[units[k]-1], row[len(row)-1]-row[0])
		}
		if icc := metric.ICC(rows, n); !math.IsNaN(icc.Mean) {
			a.ICC = &icc
		}
		if bias, limits := metric.BlandAltman(differences); of != "readers" {
			a.Bias, a.Limits = &bias, limits
		}
		if a.Images = len(rows); a.Images > 0 {
			all = append(all, a)
		}
	}
	for m, modality := range t.Modalities {
		if some := statistics.Filter(first[m], func(x []float64) bool { return count(x) > 0 }); len(some) > 1 {
			add("readers", modality, some...)
		}
	}
	for j, reader := range t.Readers {
		if len(first) == 2 {
			add("modalities", reader, first[0][j], first[1][j])
		}
		for m, modality := range t.Modalities {
			add("readings", join(reader, modality), first[m][j], second[m][j])
		}
	}
	return all
}

func (t *Table) counts() (all []Count) {
	for m, values := range t.values(seconds, false) {
		times := statistics.Values(slices.Concat(values...), func(v float64) float64 { return v })
		c := Count{Modality: t.Modalities[m], Timed: len(times), Mean: statistics.Defined(metric.Mean(times)), Median: statistics.Defined(metric.Median(times))}
		for _, r := range statistics.Filter(t.rows, func(r row) bool { return r.modality == c.Modality }) {
			if r.again {
				c.Again++
			} else if c.Readings++; t.text(r.line, "decision") == "rejected" {
				c.Rejected++
			}
		}
		all = append(all, c)
	}
	return all
}

// Save writes the files into a folder.
func (r *Report) Save(out string) error {
	return report.Save(out, map[string]func(io.Writer) error{
		"report.html": r.Document().HTML, "figures.csv": r.figuresCSV,
		"report.json": func(w io.Writer) error { return table.JSON(w, r) },
	})
}

func (r *Report) figuresCSV(w io.Writer) error {
	header := []string{"figure", "kind", "images", "patients", "reader", "view", "modality", "mean", "low", "high", "standard_error", "degrees", "f", "p"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, a := range r.Figures {
			for _, e := range a.Estimates {
				line(a.Figure, a.Kind, a.Images, a.Patients, e.Reader, e.View, e.Modality, &e.Interval, e.Error, e.Degrees, e.F, e.P)
			}
		}
	})
}

// IMRMC writes the only figure of which the truth is 0 or 1 for the program iMRMC of the FDA.
func (r *Report) IMRMC(w io.Writer) error {
	all := statistics.Filter(r.Figures, func(a *Analysis) bool { return a.Kind == AUC })
	if len(all) != 1 {
		return fmt.Errorf("%s: iMRMC takes one figure whose truth is 0 or 1, and here are %d; leave one in the file of -truth", r.truth.name, len(all))
	}
	lines := []string{all[0].Figure + ", by MrPrism", "BEGIN DATA:"}
	line := func(reader, of, modality string, v float64) {
		name := strings.NewReplacer(",", ";", "\n", " ", "\r", " ").Replace
		lines = append(lines, fmt.Sprintf("%s,%s,%s,%g", name(reader), name(of), modality, v))
	}
	known, values := r.truth.values(all[0].Figure, false)[0][0], r.readings.values(all[0].Figure, false)
	for i, of := range r.readings.Cases {
		at, is := slices.BinarySearch(r.truth.Cases, of)
		if !is || math.IsNaN(known[at]) {
			continue
		}
		line("truth", of, "truth", known[at])
		for k, x := range slices.Concat(values...) {
			if n := len(r.Readers); !math.IsNaN(x[i]) {
				line(r.Readers[k%n], of, cmp.Or(r.Modalities[k/n], "only"), x[i])
			}
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

const basis = "Means over readers with 95 % intervals and tests by Obuchowski and Rockette (1995), with the degrees of freedom of Hillis (2007) and error covariances by the jackknife over patients. " +
	"Each figure is of the images that all readers have judged in all modalities, and of their first readings. AUC: the empirical area under the ROC curve. p is of one figure, and not adjusted for several."

// help says what the method takes for granted.
var help = []string{
	"Random readers and cases: for other readers and other patients, the main result. Fixed readers: for these readers alone. Fixed cases: for these patients alone.",
	"The method takes readers and patients for random samples, readers' errors for equally variable and equally correlated, and figures for about normal. Intervals of fixed readers are those of many patients.",
	"Each reader judges each image in both modalities. That the second sitting remembers the first, no figure can see: its order must be drawn by lot.",
	"ICC(2,1) has the interval of McGraw and Wong (1996), for as many cases as there are patients; of readings and modalities the bias has Student's t interval, and limits of agreement are those of Bland and Altman (1986, 2007).",
}

// Document is the report for people.
func (r *Report) Document() *report.Document {
	d := &report.Document{
		Made: r.Made, Title: "Reading study: " + r.readings.name, Basis: basis, Help: help, Notes: append(r.Notes.Lines(), r.Failed...),
		Lead: []string{fmt.Sprintf("%d readers, %d images", len(r.Readers), r.Images)},
	}
	number := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	variances := report.Table{Title: "Variances of Obuchowski and Rockette's model", Columns: report.Columns("", "readers", "reader × modality", "error", "Cov1", "Cov2", "Cov3")}
	for _, a := range r.Figures {
		c := a.Components
		variances.Add(a.Figure, number(c.Reader), number(c.ReaderModality), number(c.Var), number(c.Cov1), number(c.Cov2), number(c.Cov3))
		d.Parts = append(d.Parts, a.part())
	}
	agreement := report.Table{Title: "Agreement", Columns: report.Columns("", "of", "images", "ICC(2,1)", "bias", "limits of agreement, 95 %")}
	for _, a := range r.Agreement {
		limits := "–"
		if a.Limits != nil {
			limits = number(a.Limits[0]) + " to " + number(a.Limits[1])
		}
		agreement.Add(a.Figure+": "+a.Of, cmp.Or(a.By, "all"), a.Images, report.Plain(a.ICC, 1, 3), report.Signed(a.Bias, 1, digits(a.Bias)), limits)
	}
	counts := report.Table{Title: "Readings and their seconds", Columns: report.Columns("", "readings", "second readings", "rejected", "timed", "mean", "median")}
	for _, c := range r.Counts {
		counts.Add(cmp.Or(c.Modality, "all"), c.Readings, c.Again, c.Rejected, c.Timed, report.Scaled("%.1f", c.Mean, 1), report.Scaled("%.1f", c.Median, 1))
	}
	d.Parts = append(d.Parts, report.Part{Title: "All figures", Tables: []report.Table{variances, agreement, counts}})
	return d
}

// digits are those after the point: areas and seconds have one.
func digits(i *metric.Interval) int {
	if i != nil && math.Abs(i.Mean) >= 2 {
		return 1
	}
	return 3
}

// part has a row for each reader, and for each view of all. The plot has the differences.
func (a *Analysis) part() report.Part {
	places, paired := digits(&a.Estimates[0].Interval), a.Components.Modalities == 2
	t := report.Table{Title: fmt.Sprintf("%s: %s, %d of %d images, %d patients", a.Figure, a.Kind, a.Images, a.Of, a.Patients), Columns: report.Columns("", a.Estimates[0].Modality)}
	f := graphs.Forest{Title: a.Figure + ": " + a.Kind, Below: "less", Above: "more", Numbers: "Δ", Groups: []graphs.Group{{Name: "each reader — fixed"}}}
	switch a.Kind {
	case AUC:
		t.Title += fmt.Sprintf(", %d images with the truth 1", a.Positives)
		f.Below, f.Above = "worse with the model", "better with the model"
	case Error:
		f.Lower, f.Below, f.Above = true, "better with the model", "worse with the model"
	}
	if paired {
		t.Columns = report.Columns("", without, with, Difference, "standard error", "F (1, degrees)", "p")
	}
	scale := map[bool]float64{true: 100, false: 1}[places == 3] // the plot has one digit
	f.Axis = fmt.Sprintf("with less without the model, ×%g; hollow: the 95 %% interval covers 0", scale)
	for row := range slices.Chunk(a.Estimates, len(t.Columns)/2) { // 1 estimate of a modality, or 3
		name, last := cmp.Or(row[0].Reader, row[0].View), row[len(row)-1]
		cells := []any{name}
		for _, e := range row[:a.Components.Modalities] {
			cells = append(cells, report.Plain(&e.Interval, 1, places))
		}
		if paired {
			cells = append(cells, report.Signed(&last.Interval, 1, places), fmt.Sprintf("%.4g", last.Error), "–", "–")
		}
		if last.F != nil {
			degrees := strings.Replace(report.Scaled("%.1f", last.Degrees, 1), "–", "∞", 1)
			cells[5], cells[6] = fmt.Sprintf("%.2f (1, %s)", *last.F, degrees), display.PValue(*last.P)
			if last.Reader == "" {
				f.Groups, name = append(f.Groups, graphs.Group{Name: "all readers — " + name}), "mean"
			}
			group, short := &f.Groups[len(f.Groups)-1], []rune(name)
			group.Rows = append(group.Rows, graphs.Row{Name: string(short[:min(11, len(short))]), Estimate: scale * last.Mean, Low: scale * *last.Low, High: scale * *last.High, Open: !last.Clear()})
		}
		t.Add(cells...)
	}
	p := report.Part{Title: a.Figure, Tables: []report.Table{t}}
	var svg strings.Builder
	if err := f.Write(&svg); err == nil && paired {
		p.Plots = []report.Plot{{Title: Difference, SVG: template.HTML(svg.String())}}
	}
	return p
}
