package given

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
	"mrprism/weights"
)

// givenFigures are the figures of given marks in the order of the table, each with the one that it
// is compared with.
var givenFigures = []struct {
	title, ours string
	others      []string
}{
	{"soft Dice with the raters who are not given", "ours", []string{"network without", "the marks", "STAPLE", "fixed blend", "best blend, chosen here", "after one pass", "another image's marks"}},
	{"soft Dice with the mean vote of all", "all: ours", []string{"all: network without", "all: fixed blend", "all: best blend, chosen here"}},
	{"Dice of the heads of raters who are not given with their own marks", "heads", []string{"heads without"}},
	{"a tenth of an outline is given: Dice of the rest", "rest of the corrected rater's outline", []string{"rest of the corrected rater's outline without"}},
	{"the same, of the raters who are not given", "rest of the others' outline", []string{"rest of the others' outline without"}},
}

// deliver writes the CSV and prints the table.
func (g *evidenceStudy) deliver(stdout io.Writer) error {
	var failed error
	if g.CSV != "" {
		failed = weights.WriteAtomic(g.CSV, g.writeCSV)
	}
	return errors.Join(failed, g.document().Print(stdout))
}

// document has each figure, and the paired differences of ours.
func (g *evidenceStudy) document() *report.Document {
	about := &g.session.Model.Metadata
	images := statistics.Distinct(statistics.Tabulate(len(g.rows), func(i int) string { return g.rows[i].image }))
	groups := report.OfGroups(images, statistics.Distinct(statistics.Tabulate(len(g.rows), func(i int) statistics.Unit { return g.rows[i].Unit })))
	d := &report.Document{
		Title: "Given marks: " + about.Name, Lead: []string{fmt.Sprintf("%s on the images of %s that training did not see", about.Name, g.set.Name)},
	}
	if groups != "" {
		d.Lead = append(d.Lead, fmt.Sprintf("%d images%s", images, groups))
	}
	for _, class := range g.set.Classes {
		part := report.Part{Title: class}
		for k := 0; k <= g.Most; k++ {
			rows := statistics.Filter(g.rows, func(r givenRow) bool { return r.class == class && r.given == k })
			for _, figure := range givenFigures {
				of := func(name string) func(givenRow) float64 {
					return func(r givenRow) float64 { return figureOf(r, name) }
				}
				if len(statistics.Values(rows, of(figure.ours))) == 0 {
					continue
				}
				said := fmt.Sprintf("marks given: %d", k)
				if k == 0 {
					said = "a corrected patch"
				}
				t := report.Table{Title: fmt.Sprintf("%s, %s, %d images: %s", class, said, len(rows), figure.title), Columns: report.Columns("", "×100", "ours less this")}
				t.Add("ours", report.Plain(statistics.MeanWithin(0, 1, rows, of(figure.ours)), 100, 1), "")
				for _, name := range figure.others {
					gain := statistics.MeanOver(rows, func(r givenRow) float64 { return figureOf(r, figure.ours) - figureOf(r, name) })
					if gain != nil {
						t.Add(name, report.Plain(statistics.MeanWithin(0, 1, rows, of(name)), 100, 1), report.Signed(gain, 100, 2))
					}
				}
				part.Tables = append(part.Tables, t)
			}
		}
		d.Parts = append(d.Parts, part)
	}
	for _, key := range slices.SortedFunc(maps.Keys(g.blends), compareBlends) {
		against := "those not given"
		if key.all {
			against = "all"
		}
		d.Notes = append(d.Notes, fmt.Sprintf("fixed blend for %s, %d marks, against %s: %.1f of the network", g.set.Classes[key.class], key.given, against, g.blends[key]))
	}
	return d
}

func compareBlends(a, b blendKey) int {
	of := func(k blendKey) int {
		n := 100*k.class + 2*k.given
		if k.all {
			n++
		}
		return n
	}
	return cmp.Compare(of(a), of(b))
}

// figureOf is a figure of a row; NaN if it has none.
func figureOf(r givenRow, name string) float64 {
	if v, ok := r.figures[name]; ok {
		return v
	}
	return math.NaN()
}

// writeCSV writes every figure of every image.
func (g *evidenceStudy) writeCSV(w io.Writer) error {
	return report.WriteCSV(w, []string{"image", "structure", "given", "figure", "value"}, func(line func(...any)) {
		for _, row := range g.rows {
			for _, name := range slices.Sorted(maps.Keys(row.figures)) {
				line(row.image, row.class, row.given, name, row.figures[name])
			}
		}
	})
}
