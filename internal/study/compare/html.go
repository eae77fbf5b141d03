package compare

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

//go:embed compare.html
var comparePage string

var compareTemplate = template.Must(template.New("report").Parse(comparePage))

// htmlPage is what the template shows.
type htmlPage struct {
	*Comparison
	Subject, ReferenceName, IntervalsNote, TestsNote string
	Legend                                           []htmlMethod
	Sections                                         []htmlSection
	RiskPlot                                         template.HTML
	RiskAreas                                        []htmlMethod
	Galleries                                        []htmlGallery
	Remarks                                          []string
	Structures                                       []htmlMethod // classes with their colours in the pictures
	ShownTroubles                                    []trouble
	More                                             int // troubles that only the JSON has
}

// htmlMethod is a name beside its colour.
type htmlMethod struct {
	Name, About string
	Ink         template.CSS
}

// htmlSection is a class.
type htmlSection struct {
	Class                  string
	Images, Paired         int
	Against                string
	Figures, Tests         htmlTable
	Passes, Bars, Diagrams template.HTML
	FaintBars              bool // some bars are of masks
}

type htmlTable struct {
	Header []string
	Rows   []htmlRow
}

type htmlRow struct {
	htmlMethod
	Images int
	Cells  []htmlCell
}

// htmlCell is a number, lines below it in small print, and its class in the style.
type htmlCell struct {
	Value, Kind string
	Below       []string
}

// newCell cuts a mean from its interval, and writes true minus signs.
func newCell(text string) htmlCell {
	value, interval, found := strings.Cut(strings.ReplaceAll(text, "-", "−"), " ")
	if !found {
		return htmlCell{Value: value}
	}
	return htmlCell{Value: value, Below: []string{interval}}
}

type htmlGallery struct {
	Title    string
	Exhibits []*exhibit
}

// mostShown is the number of troubles that the page lists.
const mostShown = 30

// html writes the report as one page that needs no other file.
func (r *Comparison) html(w io.Writer) error {
	p := htmlPage{
		Comparison: r, Subject: r.subject(), ReferenceName: r.referenceName(), IntervalsNote: strings.TrimSpace(intervalsNote), TestsNote: testsNote,
		ShownTroubles: r.Troubles[:min(len(r.Troubles), mostShown)],
	}
	p.More = len(r.Troubles) - len(p.ShownTroubles)
	for i, m := range r.Methods {
		p.Legend = append(p.Legend, htmlMethod{m.Name, m.about(), cssInk(i)})
	}
	for i := range r.Classes {
		if c := &r.Classes[i]; len(c.Methods) > 0 {
			p.Sections = append(p.Sections, c.section(r))
		}
		s := picture.Structures[i%len(picture.Structures)]
		p.Structures = append(p.Structures, htmlMethod{Name: r.Classes[i].Class, Ink: template.CSS(fmt.Sprintf("#%02x%02x%02x", s.R, s.G, s.B))})
	}
	if len(r.Risk) > 0 {
		p.RiskPlot = r.riskPlot()
	}
	for _, one := range r.Risk {
		at := slices.IndexFunc(r.Methods, func(m *method) bool { return m.Name == one.Method })
		p.RiskAreas = append(p.RiskAreas, htmlMethod{one.Method, fmt.Sprintf("%.2f", 100*one.Area), cssInk(at)})
	}
	p.Galleries = r.galleries.shown(r.Methods[0].Name)
	r.remarks(func(line string) { p.Remarks = append(p.Remarks, line) })
	return compareTemplate.Execute(w, p)
}

// about says what a method is.
func (m *method) about() string {
	text := fmt.Sprintf("%s; %d passes", m.Source, m.Passes)
	if m.Passes == 1 {
		text = m.Source + "; one pass"
	}
	if m.Heads {
		text += ", a map of each rater"
	}
	return text
}

func (c *classComparison) section(r *Comparison) htmlSection {
	shown := c.shown(false)
	s := htmlSection{
		Class: c.Class, Images: c.Images, Paired: c.Paired, Against: c.Methods[0].Method, Figures: c.figuresTable(shown), Tests: c.testsTable(shown),
		Passes: c.passesPlot(), Diagrams: c.reliabilityPlot(), Bars: c.ratersPlot(r.Raters),
	}
	for _, m := range c.Methods {
		s.FaintBars = s.FaintBars || slices.ContainsFunc(m.Raters, func(d raterDice) bool { return d.Head == nil })
	}
	return s
}

// header are the names of figures, with an arrow to what is better, on the last word's line.
func header(shown []score.Figure) []string {
	return statistics.Tabulate(len(shown), func(i int) string {
		if shown[i].Lower {
			return shown[i].Title + "\u00a0↓"
		}
		return shown[i].Title + "\u00a0↑"
	})
}

func (c *classComparison) figuresTable(shown []score.Figure) htmlTable {
	t := htmlTable{Header: header(shown)}
	for _, m := range c.Methods {
		row := htmlRow{htmlMethod{Name: m.Method, Ink: cssInk(m.index)}, m.Images, nil}
		for _, f := range shown {
			cell := newCell(cellOf(f, m))
			if e := m.last()[f.Key]; e != nil && e.Undefined > 0 {
				cell.Below = append(cell.Below, fmt.Sprintf("%d not defined", e.Undefined))
			}
			if c.best(m, f) {
				cell.Kind = "best"
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// testsTable has the differences to the first method, of the figures that have any.
func (c *classComparison) testsTable(shown []score.Figure) htmlTable {
	shown = statistics.Filter(shown, func(f score.Figure) bool {
		return slices.ContainsFunc(c.Tests, func(t pairedTest) bool { return t.Figure == f.Key })
	})
	t := htmlTable{Header: header(shown)}
	for _, m := range c.Methods[1:] {
		row := htmlRow{htmlMethod{Name: m.Method, Ink: cssInk(m.index)}, c.Paired, nil}
		for _, f := range shown {
			row.Cells = append(row.Cells, testCell(c.Test(m.Method, f.Key), f))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// testCell is a difference with its interval and p. An arrow marks those that are better or worse
// at an adjusted p below .05.
func testCell(t *pairedTest, f score.Figure) htmlCell {
	if t == nil {
		return htmlCell{Value: "–"}
	}
	cell := newCell(report.Signed(t.Difference, f.Scale, f.Digits))
	cell.Below = append(cell.Below, "p "+report.Equals(report.PValue(t.Holm)))
	switch better := t.Difference.Mean > 0 != f.Lower; {
	case t.Holm >= .05:
	case better:
		cell.Kind, cell.Value = "better", "▲ "+cell.Value
	default:
		cell.Kind, cell.Value = "worse", "▼ "+cell.Value
	}
	return cell
}

// shown are the galleries that have images.
func (g *galleries) shown(first string) (list []htmlGallery) {
	for _, one := range []struct {
		title string
		gallery
	}{
		{"Lowest soft Dice, mean of the methods", g.lowest}, {"Highest soft Dice, mean of the methods", g.highest},
		{first + " is ahead of the best other", g.gains}, {first + " is behind the best other", g.losses},
	} {
		if len(one.exhibits) > 0 {
			list = append(list, htmlGallery{one.title, one.exhibits})
		}
	}
	return list
}
