//go:build !js

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/internal/data/metric"
	"mrprism/internal/study/report"
	"mrprism/weights"
)

// write writes a page and a picture for each table.
func (r *runner) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, d := range everyData() {
		if err := r.collect(d); err != nil {
			return err
		}
	}
	grid, err := r.overview()
	if err == nil && len(grid.Columns) > 0 {
		err = weights.WriteAtomic(filepath.Join(folder, "overview.svg"), grid.Write)
	}
	if err != nil {
		return err
	}
	survivors, err := r.survivors()
	if err == nil {
		err = weights.WriteAtomic(filepath.Join(folder, "survivors.md"), func(w io.Writer) error {
			_, err := io.WriteString(w, survivors)
			return err
		})
	}
	if err != nil {
		return err
	}
	for _, t := range tables() {
		text, picture, found, err := r.page(t)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		err = weights.WriteAtomic(filepath.Join(folder, t.name+".md"), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err == nil {
			err = weights.WriteAtomic(filepath.Join(folder, t.name+".svg"), picture.Write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stands says whether a row is among others.
func stands(rows []entry, e entry) bool {
	return slices.ContainsFunc(rows, func(other entry) bool { return other.name == e.name })
}

// overview is the picture of all methods on all data.
func (r *runner) overview() (graphs.Grid, error) {
	grid := graphs.Grid{
		Title: "Soft Dice ×100 less that of a network on the mean vote", Limit: widest,
		Caption: "Generated data (64²) are scored against the truth, real images against the raters' mean vote. Bold: the 95 % interval over seeds and images leaves out 0.",
	}
	for i, name := range []string{"Methods for several raters", "Without a model of raters", "The same network on fused labels"} {
		grid.Groups = append(grid.Groups, graphs.GridGroup{Name: name})
		for _, e := range tables()[i].rows[1:] {
			if i == 0 || !stands(tables()[0].rows, e) {
				grid.Groups[i].Rows = append(grid.Groups[i].Rows, graphs.GridRow{Name: short(e.name)})
			}
		}
	}
	for _, d := range dataSets {
		all, classes, err := r.read(d)
		if err != nil {
			return grid, err
		}
		for _, class := range classes {
			grid.Columns = append(grid.Columns, d.name+" "+class)
			for i := range grid.Groups {
				cells := cellsOf(tables()[i], class, all)
				for j, row := range grid.Groups[i].Rows {
					cell, there := cells[row.Name]
					if !there {
						cell.Value = math.NaN()
					}
					grid.Groups[i].Rows[j].Cells = append(row.Cells, cell)
				}
			}
		}
	}
	return grid, nil
}

// cellsOf are the differences of a table's rows of equal steps, by short name.
func cellsOf(t table, class string, all results) map[string]graphs.GridCell {
	cells := map[string]graphs.GridCell{}
	rows := compared(t, class, all)
	if len(rows) == 0 {
		return cells
	}
	for _, row := range effects(rows) {
		cells[row.Name] = graphs.GridCell{Value: row.Effects[0].Estimate, Bold: !row.Effects[0].Open && !math.IsNaN(row.Effects[0].Low)}
	}
	return cells
}

// page is a table's page, and its picture. It is not found if nothing has been compared.
func (r *runner) page(t table) (text string, picture graphs.Forest, found bool, err error) {
	var page strings.Builder
	base, steps, units := t.rows[0], strconv.Itoa(r.steps), "images"
	for _, d := range t.sets {
		if d.steps > 0 {
			steps += fmt.Sprintf(" (%s: %d)", d.title(), d.steps)
		}
		if d.patients {
			units += fmt.Sprintf(" (%s: over patients, each the mean of their images)", d.title())
		}
	}
	fmt.Fprintf(&page, `# %s

Every row trains the same encoder and decoder (compact) from random weights: %s steps of %d images. Scores are of the held-out
fifth, on which nothing was chosen: of real images another fifth with each seed. A figure is the mean over %s, of the mean
over seeds. Brackets hold the 95 %% interval. Δ is the difference of soft Dice to the first row, "%s",
over the seeds that both have. Intervals and p are of Student's t over seeds and images together (`+"`metric.OverRuns`"+`): another run, and
others of these, would give another difference. p has Holm's correction over the rows of one structure. Where both have one seed
alone, the interval is of a bootstrap over images, and there is no p: "one run" is a difference of these two networks, not of their
methods. With two seeds no difference below some 13 times its standard error can be told from chance. "Equal time" is a run of fewer steps, as long
as one of the first row.

`+"`make tables`"+` trains what is missing and writes this page. The scores of each image are in [scores](../../../cmd/study/tables/scores).

![Differences of soft Dice to the first row](%s.svg)
%s`, t.title, steps, images, units, base.title, t.name, t.note)
	picture = graphs.Forest{
		Title: t.title, Axis: "difference of soft Dice ×100 to " + plainly(base.title) + ", with the 95 % interval; hollow: it covers 0, or there is one seed alone",
		Below: "worse", Above: "better", Shaded: true, Numbers: "Δ", Digits: 1, Series: []string{"a method"},
	}
	var far []string
	for _, d := range t.on() {
		all, classes, err := r.read(d)
		if err != nil {
			return "", picture, false, err
		}
		for _, class := range classes {
			rows := compared(t, class, all)
			if !slices.ContainsFunc(rows, func(x row) bool { return !stands([]entry{base, sharp, ours, undiced}, x.entry) }) {
				continue // these stand beside others
			}
			found = true
			group := graphs.Group{Name: fmt.Sprintf("%s, %d² — %s", d.title(), d.side, class)}
			for _, row := range effects(rows) {
				if e := row.Effects[0].Estimate; math.Abs(e) > widest {
					far = append(far, fmt.Sprintf("%s on %s, %d², %s %s", row.Name, d.title(), d.side, class, strings.Replace(fmt.Sprintf("%+.1f", e), "-", "−", 1)))
				} else {
					group.Rows = append(group.Rows, row)
				}
			}
			picture.Groups = append(picture.Groups, group)
			reference := "the mean vote"
			if d.truth {
				reference = "the truth"
			}
			fmt.Fprintf(&page, "\n## %s, %d², %s, against %s\n\n", d.title(), d.side, class, reference)
			fmt.Fprint(&page, "| method | seeds |")
			for f, about := range t.figures {
				if fmt.Fprintf(&page, " %s |", about.title); f == 0 {
					fmt.Fprint(&page, " Δ | p |")
				}
			}
			fmt.Fprintf(&page, "\n|%s\n", strings.Repeat("---|", len(t.figures)+4))
			for i, x := range rows {
				fmt.Fprintln(&page, x.line(t, class, all, i == 0))
			}
		}
	}
	if len(far) > 0 {
		picture.Axis += ". Beyond the picture: " + strings.Join(far, ", ")
	}
	return page.String(), picture, found, nil
}

// survivors is the page of all differences with p below .05. A row of several tables with one first
// row counts once, by its largest p.
func (r *runner) survivors() (string, error) {
	var page strings.Builder
	page.WriteString(`# Which differences survive

Every difference of soft Dice with p < .05, after Holm's correction over the rows of its structure in its table. Of a method that stands in
several tables, the largest p counts. ` + "`tables -write`" + ` writes this page; [README.md](README.md) says what it means.

| data | structure | method | seeds | Δ | to | p |
|---|---|---|---|---|---|---|
`)
	for _, d := range everyData() {
		all, classes, err := r.read(d)
		if err != nil {
			return "", err
		}
		for _, class := range classes {
			var found []row
			for _, t := range tables() {
				rows := compared(t, class, all)
				for i := 1; i < len(rows) && t.covers(d); i++ {
					x := rows[i]
					if at := slices.IndexFunc(found, func(y row) bool { return y.method == x.method && y.to == x.to }); at < 0 {
						found = append(found, x)
					} else if x.delta.P > found[at].delta.P {
						found[at] = x
					}
				}
			}
			for _, x := range found {
				if x.delta.Runs > 1 && x.delta.P < .05 {
					seeds := len(all[key{class, x.method, primary.name}])
					fmt.Fprintf(&page, "| %s, %d² | %s | %s | %d | %s | %s | %s |\n", d.title(), d.side, class, x.title, seeds, report.Signed(&x.delta.Interval, primary.factor, primary.digits), x.to, x.probability())
				}
			}
		}
	}
	return page.String(), nil
}

// widest is the largest difference that the picture draws: a run that failed would leave no room
// for the others.
const widest = 12

// row is a method on a data set and structure, beside the table's first row.
type row struct {
	entry
	method string
	to     string          // title of the first row
	delta  metric.Estimate // of soft Dice to it; P is after Holm's correction
}

// compared are the rows of a structure that have scores; none without the first row's.
func compared(t table, class string, all results) (rows []row) {
	if all[key{class, t.rows[0].name, primary.name}] == nil {
		return nil
	}
	for _, e := range t.rows {
		for _, ending := range []string{"", equalTime} {
			if all[key{class, e.name + ending, primary.name}] != nil {
				rows = append(rows, row{entry: e, method: e.name + ending})
				rows[len(rows)-1].to = rows[0].title
			}
		}
	}
	var tested []*row
	var p []float64
	for i := range rows {
		x := &rows[i]
		differences := all.differences(key{class, x.method, primary.name}, key{class, rows[0].method, primary.name})
		if x.delta = metric.OverRuns(differences); i > 0 && !math.IsNaN(x.delta.P) {
			tested, p = append(tested, x), append(p, x.delta.P)
		}
	}
	for i, corrected := range metric.Holm(p) {
		tested[i].delta.P = corrected
	}
	return rows
}

// line is a row of the page.
func (x row) line(t table, class string, all results, first bool) string {
	cells := []string{x.title, strconv.Itoa(len(all[key{class, x.method, primary.name}]))}
	if strings.HasSuffix(x.method, equalTime) {
		cells[0] += ", equal time"
	}
	for f, about := range t.figures {
		estimate := metric.OverRuns(all.values(key{class, x.method, about.name}))
		mean := new(estimate.Within(0, 1))
		switch {
		case estimate.Cases == 0:
			mean = nil
		case f > 0:
			mean = &metric.Interval{Mean: mean.Mean}
		}
		cells = append(cells, report.Plain(mean, about.factor, about.digits))
		switch {
		case f > 0:
		case first:
			cells = append(cells, "", "")
		default:
			cells = append(cells, report.Signed(&x.delta.Interval, about.factor, about.digits), x.probability())
		}
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// effects are the rows of the picture: those of equal steps.
func effects(rows []row) (list []graphs.Row) {
	for _, x := range rows[1:] {
		if strings.HasSuffix(x.method, equalTime) {
			continue
		}
		e := graphs.Effect{Estimate: 100 * x.delta.Mean, Low: math.NaN(), High: math.NaN()}
		if x.delta.Low != nil {
			e.Low, e.High = 100**x.delta.Low, 100**x.delta.High
			e.Open = e.Low <= 0 && e.High >= 0 || x.delta.Runs == 1
		}
		list = append(list, graphs.Row{Name: short(x.method), Effects: []graphs.Effect{e}})
	}
	return list
}

// short is a method's name where there is little room.
func short(method string) string {
	for _, beginning := range []string{"on-", "prism-"} {
		method = strings.TrimPrefix(method, beginning)
	}
	return method
}

// plainly is a title without Markdown.
func plainly(title string) string { return strings.ReplaceAll(title, "**", "") }

// probability is p for a reader.
func (x row) probability() string {
	switch {
	case x.delta.Runs == 1:
		return "one run"
	case math.IsNaN(x.delta.P):
		return "–"
	case x.delta.P < 0.001:
		return "< .001"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", x.delta.P), "0")
}
