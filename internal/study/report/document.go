package report

import (
	"errors"
	"fmt"
	"html/template"
	"image"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/output/table"
	"mrprism/internal/study/picture"
	"mrprism/weights"
)

// Document is what a study found, for people. Text and HTML have the same tables;
// HTML also has the plots and pictures.
type Document struct {
	Title string
	Lead  []string // paragraphs
	Basis string   // how figures were computed; not in the text for a terminal
	Key   []Entry  // what the plots show in which colour
	Parts []Part
	Notes []string // what is not in the figures
	Files []string // the files of the notes, in HTML
	Help  []string // how to read it, in HTML
	Made  *Origin  // or nil
}

// Entry is a name with its colour.
type Entry struct {
	Name, About string
	Ink         template.CSS
}

// Part is tables, plots and pictures about one thing.
type Part struct {
	Title, Note string
	Tables      []Table
	Plots       []Plot
	Albums      []Album
}

// Table is figures in rows. The first cell of a row is its name.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
}

// Column is a column's name. An arrow says whether higher (↑) or lower (↓) is better. Wide columns
// are in HTML alone.
type Column struct {
	Name, Arrow string
	Wide        bool
}

// Row is a line of a table, with its colour in the plots if it has one.
type Row struct {
	Ink   template.CSS
	Cells []Cell
}

// Cell is a figure with its interval in brackets, or a text.
type Cell struct {
	Text string
	P    string // adjusted p-value; empty without a test
	Mark Mark
	Note string
}

// Mark says that a cell stands out.
type Mark string

// Better and Worse are of differences at an adjusted p below .05, and Best of a mean, with
// intervals clear of 0.
const (
	Best   Mark = "best"
	Better Mark = "better"
	Worse  Mark = "worse"
)

// Plot is an SVG with its title and caption.
type Plot struct {
	Title, Caption string
	SVG            template.HTML
}

// Album is pictures below a title.
type Album struct {
	Title    string
	Key      []Entry
	Exhibits []Exhibit
}

// Exhibit is one image in one or several pictures.
type Exhibit struct {
	Name  string
	Shots []Shot
}

// Shot is a picture, a JPEG, with its caption.
type Shot struct {
	Name, Figure  string
	Picture       template.URL
	Width, Height int
}

// NewShot is a picture with its caption.
func NewShot(name, figure string, p *image.RGBA) (Shot, error) {
	url, err := picture.Embedded(p)
	return Shot{name, figure, url, p.Rect.Dx(), p.Rect.Dy()}, err
}

// Columns are columns of these names.
func Columns(names ...string) []Column {
	return statistics.Tabulate(len(names), func(i int) Column { return Column{Name: names[i]} })
}

// Add adds a row: texts, numbers and cells as they are, and what prints itself.
func (t *Table) Add(cells ...any) *Row {
	t.Rows = append(t.Rows, Row{Cells: statistics.Tabulate(len(cells), func(i int) Cell {
		if c, is := cells[i].(Cell); is {
			return c
		}
		return Cell{Text: fmt.Sprint(cells[i])}
	})})
	return &t.Rows[len(t.Rows)-1]
}

// Matrix is a table with a row and a column for each name.
func Matrix(title string, names []string, cell func(row, column int) string) Table {
	t := Table{Title: title, Columns: Columns(append([]string{""}, names...)...)}
	for i, name := range names {
		t.Add(append([]any{name}, statistics.Tabulate(len(names), func(j int) any { return cell(i, j) })...)...)
	}
	return t
}

// shown is the number of items that a table names.
const shown = 10

// First adds the first of n rows, and says how many more the JSON has.
func (t *Table) First(n int, row func(i int) []any) {
	for i := range min(n, shown) {
		t.Add(row(i)...)
	}
	if n > shown {
		t.Add(fmt.Sprintf("and %d more, in the JSON", n-shown))
	}
}

// value is the text with its p-value and note.
func (c Cell) value() string {
	text := c.Text
	if c.P != "" {
		text += ", p " + Equals(c.P)
	}
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	return text
}

// tables are those of all parts.
func (d *Document) tables() (all []Table) {
	for _, p := range d.Parts {
		all = append(all, p.Tables...)
	}
	return all
}

// Remarks are the notes, and why intervals are missing.
func (d *Document) Remarks() []string {
	few := func(c Cell) bool { return strings.Contains(c.Text, " [n = ") }
	inRow := func(r Row) bool { return slices.ContainsFunc(r.Cells, few) }
	if slices.ContainsFunc(d.tables(), func(t Table) bool { return slices.ContainsFunc(t.Rows, inRow) }) {
		return append(slices.Clone(d.Notes), metric.FewSaid)
	}
	return d.Notes
}

// narrow is the table without wide columns.
func (t Table) narrow() Table {
	out := Table{Title: t.Title}
	keep := func(i int) bool { return !t.Columns[i].Wide }
	for i, c := range t.Columns {
		if keep(i) {
			out.Columns = append(out.Columns, c)
		}
	}
	for _, r := range t.Rows {
		row := Row{Ink: r.Ink}
		for i, c := range r.Cells {
			if keep(i) {
				row.Cells = append(row.Cells, c)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// names are those of the columns.
func (t Table) names() []string {
	return statistics.Tabulate(len(t.Columns), func(i int) string { return t.Columns[i].Name })
}

// join joins the cells of a row.
func (r Row) join(between string, text func(Cell) string) string {
	return strings.Join(statistics.Tabulate(len(r.Cells), func(i int) string { return text(r.Cells[i]) }), between)
}

// Lines adds the document to a table for a terminal.
func (d *Document) Lines(t *table.Table) {
	for _, text := range append(slices.Clone(d.Lead), d.Made.Lines()...) {
		t.Line("%s", text)
	}
	for _, one := range d.tables() {
		one = one.narrow()
		t.Title("%s", one.Title)
		t.Line("%s", strings.Join(one.names(), "\t"))
		for _, row := range one.Rows {
			t.Line("%s", row.join("\t", Cell.value))
		}
	}
	t.Break()
	for _, note := range d.Remarks() {
		t.Line("%s", note)
	}
}

// Print writes the document for a terminal.
func (d *Document) Print(w io.Writer) error {
	t := table.New(2, 0)
	d.Lines(t)
	return t.Print(w)
}

// split cuts a figure from its interval.
func (c Cell) split() (mean, interval string, found bool) {
	if mean, interval, found = strings.Cut(c.Text, " ["); found && strings.HasSuffix(interval, "]") {
		return mean, "[" + interval, true
	}
	return c.Text, "", false
}

// Save writes files into a folder, which it makes, each whole or not at all. It tries each even if
// another fails.
func Save(dir string, files map[string]func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		failed = append(failed, weights.WriteAtomic(filepath.Join(dir, name), files[name]))
	}
	return errors.Join(failed...)
}
