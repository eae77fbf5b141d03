package given

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// comparisons are the tables: ours beside other answers.
var comparisons = []struct {
	title, with string
	answers     []string
}{
	{"soft Dice with the raters who are not given", notGiven, []string{without, theMarks, staple, fixedBlend, bestBlend, onePass, otherImage}},
	{"soft Dice with the mean vote of all", everyRater, []string{without, fixedBlend, bestBlend}},
	{"Dice of the heads of raters who are not given with their own marks", ownMarks, []string{without}},
	{"a tenth of an outline is given: Dice of the rest", ownRest, []string{without}},
	{"the same, of the raters who are not given", othersRest, []string{without}},
}

// document has each figure, and the paired differences of ours.
func (g *evidenceStudy) document() *report.Document {
	about := &g.session.Model.Metadata
	images := statistics.Distinct(statistics.Tabulate(len(g.rows), func(i int) string { return g.rows[i].Image }))
	groups := report.OfGroups(images, statistics.Distinct(statistics.Tabulate(len(g.rows), func(i int) statistics.Unit { return g.rows[i].Unit })))
	d := &report.Document{
		Title: "Given marks: " + about.Name, Lead: []string{fmt.Sprintf("%s on the images of %s that training did not see", about.Name, g.set.Name)},
	}
	if groups != "" {
		d.Lead = append(d.Lead, fmt.Sprintf("%d images%s", images, groups))
	}
	for _, class := range g.set.Classes {
		part := report.Part{Title: class}
		for k := 0; k <= g.most; k++ {
			rows := statistics.Filter(g.rows, func(r givenRow) bool { return r.Class == class && r.Given == k })
			for _, c := range comparisons {
				of := func(answer string) func(givenRow) float64 {
					return func(r givenRow) float64 {
						if v, ok := r.Figures[figure{c.with, answer}]; ok {
							return v
						}
						return math.NaN()
					}
				}
				if len(statistics.Values(rows, of(ours))) == 0 {
					continue
				}
				said := fmt.Sprintf("marks given: %d", k)
				if k == 0 {
					said = "a corrected patch"
				}
				t := report.Table{Title: fmt.Sprintf("%s, %s, %d images: %s", class, said, len(rows), c.title), Columns: report.Columns("", "×100", "ours less this")}
				t.Add(ours, report.Plain(statistics.MeanWithin(0, 1, rows, of(ours)), 100, 1), "")
				for _, name := range c.answers {
					gain := statistics.MeanOver(rows, func(r givenRow) float64 { return of(ours)(r) - of(name)(r) })
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
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.given, b.given), map[bool]int{true: 1}[a.all]-map[bool]int{true: 1}[b.all])
}
