//go:build !js

package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
	"mrprism/weights"
)

// write writes a table and a picture for each of the tables, the family of all tests, and a picture
// of all methods.
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
	if err != nil {
		return err
	}
	family, err := r.family()
	if err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{"family.csv": written(family, nil)}
	confirmed, err := r.confirmed()
	if err != nil {
		return err
	}
	if len(confirmed) > 0 {
		files["confirmation.csv"] = written(confirmed, masks[1:])
	}
	if len(grid.Columns) > 0 {
		files["overview.svg"] = grid.Write
	}
	for _, t := range tables() {
		rows, picture, found, err := r.gather(t, family)
		if err != nil {
			return err
		}
		if found {
			files[t.name+".csv"], files[t.name+".svg"] = written(rows, t.figures[1:]), picture.Write
		}
	}
	for name, write := range files {
		if err := weights.WriteAtomic(filepath.Join(folder, name), write); err != nil {
			return err
		}
	}
	return nil
}

// stands says whether a row is among others.
func stands(rows []entry, e entry) bool {
	return slices.ContainsFunc(rows, func(other entry) bool { return other.name == e.name })
}

// ceilings are the soft Dice ×100 of perfect models beside as many raters, by data set and structure,
// as "evaluate raters" has it (perfectModel).
func (r *runner) ceilings() (all map[[2]string]float64, err error) {
	rows, err := records(filepath.Join(r.scores, "ceilings.csv"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	all = map[[2]string]float64{}
	for _, row := range rows {
		if all[[2]string{row["data"], row["structure"]}], err = strconv.ParseFloat(row["soft_dice"], 64); err != nil {
			return nil, err
		}
	}
	return all, err
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
				cells := cellsOf(tables()[i], d, class, all)
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

// cellsOf are the differences of a table's rows, by short name.
func cellsOf(t table, d data, class string, all results) map[string]graphs.GridCell {
	cells := map[string]graphs.GridCell{}
	rows := compared(t, d, class, all)
	if len(rows) == 0 {
		return cells
	}
	for _, row := range effects(rows) {
		cells[row.Name] = graphs.GridCell{Value: row.Estimate, Bold: !row.Open}
	}
	return cells
}

// gather reads a table's rows on all data, and draws its picture. It is not found if nothing has
// been compared.
func (r *runner) gather(t table, family []row) (all []row, picture graphs.Forest, found bool, err error) {
	base := t.rows[0]
	perfect, err := r.ceilings()
	if err != nil {
		return nil, picture, false, err
	}
	picture = graphs.Forest{
		Title: t.title, Axis: "difference of soft Dice ×100 to " + plainly(base.title) + ", with the 95 % interval; hollow: it covers 0, or there are fewer than three seeds",
		Below: "worse", Above: "better", Numbers: "Δ",
	}
	var far []string
	for _, d := range t.sets {
		scores, classes, err := r.read(d)
		if err != nil {
			return nil, picture, false, err
		}
		for _, class := range classes {
			rows := compared(t, d, class, scores)
			if !slices.ContainsFunc(rows, func(x row) bool { return !stands([]entry{base, sharp, ours, undiced}, x.entry) }) {
				continue // these stand beside others
			}
			found = true
			for i := range rows {
				if at := slices.IndexFunc(family, rows[i].equals); at >= 0 {
					rows[i].holm = family[at].holm
				}
			}
			group := graphs.Group{Name: fmt.Sprintf("%s, %d² — %s", d.title(), d.side, class)}
			if ceiling := perfect[[2]string{d.title(), class}]; !d.truth && ceiling > 0 {
				group.Name += fmt.Sprintf("; a perfect model %+.1f", ceiling-rows[0].values(primary).Mean*primary.factor)
				for i := range rows {
					rows[i].perfect = ceiling
				}
			}
			for _, row := range effects(rows) {
				if e := row.Estimate; math.Abs(e) > widest {
					far = append(far, fmt.Sprintf("%s on %s, %d², %s %s", row.Name, d.title(), d.side, class, strings.Replace(fmt.Sprintf("%+.1f", e), "-", "−", 1)))
				} else {
					group.Rows = append(group.Rows, row)
				}
			}
			picture.Groups = append(picture.Groups, group)
			all = append(all, rows...)
		}
	}
	if len(far) > 0 {
		picture.Axis += ". Beyond the picture: " + strings.Join(far, ", ")
	}
	return all, picture, found, nil
}

// family is the one family of tests: all differences over three seeds or more, whose p Holm's
// correction then has adjusted. A row of several tables with one first row is in it once, and the
// default recipe not beside the plain mask with its loss, which it equals but for rounding.
func (r *runner) family() (all []row, err error) {
	var p []float64
	for _, d := range everyData() {
		scores, classes, err := r.read(d)
		if err != nil {
			return nil, err
		}
		for _, class := range classes {
			for _, t := range tables() {
				for _, x := range compared(t, d, class, scores) {
					twin := x.name == ours.name && scores[key{class, sharp.name, primary.name}] != nil
					if t.covers(d) && !math.IsNaN(x.delta.P) && !twin && !slices.ContainsFunc(all, x.equals) {
						all, p = append(all, x), append(p, x.delta.P)
					}
				}
			}
		}
	}
	for i, adjusted := range metrics.Holm(p) {
		all[i].holm = adjusted
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.delta.P, b.delta.P) })
	return all, nil
}

// equals says whether two rows have the same difference.
func (x row) equals(y row) bool {
	return x.data.name == y.data.name && x.class == y.class && x.name == y.name && x.to.name == y.to.name
}

// written writes rows as CSV, with the means of further figures. README.md beside the tables
// explains the columns.
func written(rows []row, further []figure) func(io.Writer) error {
	header := strings.Split("data,side,structure,reference,method,seeds,soft_dice,soft_dice_low,soft_dice_high,compared_with,common_seeds,first_look,difference,difference_low,difference_high,p,p_holm", ",")
	perfect := slices.ContainsFunc(rows, func(x row) bool { return x.perfect > 0 })
	if perfect {
		header = append(header, "perfect")
	}
	for _, f := range further {
		header = append(header, f.name)
	}
	return func(w io.Writer) error {
		return report.WriteCSV(w, header, func(line func(cells ...any)) {
			for _, x := range rows {
				line(x.cells(perfect, further)...)
			}
		})
	}
}

// cells are a row of the file.
func (x row) cells(perfect bool, further []figure) []any {
	reference, title, own := "mean vote", plainly(x.title), x.values(primary)
	if x.data.truth {
		reference = "truth"
	}
	cells := []any{x.data.title(), x.data.side, x.class, reference, title, own.Runs, primary.scaled(own.Within(0, 1))}
	if x.name == x.to.name {
		cells = append(cells, "", "", "", (*metric.Interval)(nil), "", "")
	} else {
		cells = append(cells, plainly(x.to.title), x.delta.Runs, x.look, primary.scaled(x.delta.Interval), math.Round(1e4*x.delta.P)/1e4, math.Round(1e4*x.holm)/1e4)
	}
	if perfect {
		cells = append(cells, statistics.Defined(cmp.Or(x.perfect, math.NaN())))
	}
	for _, f := range further {
		mean := x.values(f).Interval
		if mean.N == 0 {
			mean.Mean = math.NaN()
		}
		cells = append(cells, f.scaled(mean).Mean)
	}
	return cells
}

// values are a figure of the row over seeds and images.
func (x row) values(f figure) metrics.Estimate {
	return metrics.OverRuns(x.scores.values(key{x.class, x.name, f.name}))
}

// scaled is an interval in the unit of the figure, with a digit more than people read.
func (f figure) scaled(i metric.Interval) *metric.Interval {
	round := func(v float64) float64 {
		power := math.Pow10(f.digits + 1)
		return math.Round(v*f.factor*power) / power
	}
	i.Mean = round(i.Mean)
	if i.Low != nil {
		i.Low, i.High = new(round(*i.Low)), new(round(*i.High))
	}
	return &i
}

// widest is the largest difference that the picture draws: a run that failed would leave no room
// for the others.
const widest = 12

// row is a method on a data set and structure, beside the table's first row.
type row struct {
	entry
	data   data
	class  string
	scores results
	to     entry            // the first row
	delta  metrics.Estimate // of soft Dice to it
	holm   float64          // the p of delta, adjusted for the family; NaN outside of it
	look   int              // of the common seeds, those that were there at the first look

	perfect float64 // soft Dice ×100 of a perfect model beside as many raters; 0: not known
}

// compared are the rows of a structure that have scores; none without the first row's.
func compared(t table, d data, class string, all results) (rows []row) {
	if all[key{class, t.rows[0].name, primary.name}] == nil {
		return nil
	}
	for _, e := range t.rows {
		if all[key{class, e.name, primary.name}] != nil {
			rows = append(rows, row{entry: e, data: d, class: class, scores: all, to: t.rows[0]})
		}
	}
	for i := range rows {
		x, first := &rows[i], key{class, rows[0].name, primary.name}
		own := key{class, x.name, primary.name}
		x.delta, x.look, x.holm = metrics.OverRuns(all.differences(own, first)), all.firstLook(own, first), math.NaN()
	}
	return rows
}

// effects are the rows of the picture.
func effects(rows []row) (list []graphs.Row) {
	for _, x := range rows[1:] {
		e := graphs.Row{Name: short(x.name), Estimate: 100 * x.delta.Mean, Low: math.NaN(), High: math.NaN()}
		if x.delta.Low != nil {
			e.Low, e.High = 100**x.delta.Low, 100**x.delta.High
		}
		e.Open = !x.delta.Clear()
		list = append(list, e)
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
