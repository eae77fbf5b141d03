// Package readers analyses a reading study: several readers judge several cases, without and with a
// model.
package readers

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/statistics"
	"mrprism/internal/output/cells"
)

// Table is the readings of a study, or the truth of its cases.
type Table struct {
	Modalities []string // without, with or both; "" if the study has one without a name
	Readers    []string
	Cases      []string
	Notes      Notes

	rows    []reading
	cells   cells.Table
	group   map[string]string // by case: the patient, or the case itself
	numbers map[string][]float64
}

// reading is a row of a table. The truth has neither reader nor modality.
type reading struct {
	reader, of, modality string
	again                bool // a second reading
	line                 int  // of the cells
}

// place names the row as a spreadsheet counts it, below the header.
func (r reading) place() string {
	who := statistics.Filter([]string{r.reader, r.of, r.modality}, func(s string) bool { return s != "" })
	return fmt.Sprintf("row %d (%s)", r.line+2, strings.Join(who, ", "))
}

// Note says what was left out, and of which rows, readers or cases.
type Note struct {
	What  string   `json:"what"`
	Items []string `json:"items"`
}

// Notes are in the order in which they came.
type Notes []*Note

func (n *Notes) add(item, what string, args ...any) {
	what = fmt.Sprintf(what, args...)
	at := slices.IndexFunc(*n, func(one *Note) bool { return one.What == what })
	if at < 0 {
		at, *n = len(*n), append(*n, &Note{What: what})
	}
	(*n)[at].Items = append((*n)[at].Items, item)
}

// String names the first items.
func (n *Note) String() string {
	const shown = 8
	text := n.What + ": " + strings.Join(n.Items[:min(shown, len(n.Items))], ", ")
	if more := len(n.Items) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more, in the JSON", more)
	}
	return text
}

// about are the columns of readings.csv that are no figures.
var about = []string{"reader", "case", "group", "modality", "arm", "order", "repeat", "decision", "reason", "trust", "seconds", "seconds_drawing"}

const without, with = "without", "with"

// Read reads readings.csv, whose name errors have. Rows that cannot count become notes.
func Read(name string, r io.Reader) (*Table, error) { return read(name, r, "reader", "case") }

// ReadTruth reads truth.csv.
func ReadTruth(name string, r io.Reader) (*Table, error) { return read(name, r, "case") }

func read(name string, r io.Reader, needed ...string) (*Table, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t := &Table{group: map[string]string{}, numbers: map[string][]float64{}}
	whole, cut := append(bytes.TrimSuffix(data, []byte("\n")), '\n'), false // the last line may lack its end
	if t.cells, cut, err = cells.Read(whole); cut {
		err = fmt.Errorf("a quotation mark near its end has no second one")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; save it as CSV in UTF-8, with commas between the cells of a row", name, err)
	}
	for i, column := range t.cells.Columns {
		t.cells.Columns[i] = strings.TrimSpace(column)
	}
	if lacks := statistics.Filter(needed, func(column string) bool { return !slices.Contains(t.cells.Columns, column) }); len(lacks) > 0 {
		return nil, fmt.Errorf("%s lacks the column %s: row 1 names the columns, with commas between them", name, strings.Join(lacks, " and "))
	}
	seen := map[reading]bool{}
	for i := range t.cells.Lines {
		one := reading{t.text(i, "reader"), t.text(i, "case"), t.text(i, "modality"), !slices.Contains([]string{"", "0"}, t.text(i, "repeat")), i}
		key := one
		key.line = 0
		switch {
		case slices.ContainsFunc(needed, func(column string) bool { return t.text(i, column) == "" }):
			t.Notes.add(one.place(), "%s: rows without %s, left out", name, strings.Join(needed, " or "))
			continue
		case !slices.Contains([]string{"", without, with}, one.modality):
			t.Notes.add(one.place(), "%s: the modality is neither without nor with, left out", name)
			continue
		case seen[key]:
			t.Notes.add(one.place(), "%s: a second row of the same, of which the first one counts", name)
			continue
		}
		seen[key] = true
		t.rows = append(t.rows, one)
		patient := cmp.Or(t.text(i, "group"), one.of)
		if known := t.group[one.of]; known != "" && known != patient {
			t.Notes.add(one.place(), "%s: the group is another than in an earlier row of the case, which counts", name)
			continue
		}
		t.group[one.of] = patient
	}
	return t, t.gather(name)
}

// gather lists readers, cases and modalities.
func (t *Table) gather(name string) error {
	list := func(of func(reading) string) []string {
		return slices.Compact(slices.Sorted(slices.Values(statistics.Tabulate(len(t.rows), func(i int) string { return of(t.rows[i]) }))))
	}
	t.Modalities = list(func(r reading) string { return r.modality })
	slices.Reverse(t.Modalities) // without, with, none
	if n := len(t.Modalities); n > 1 && t.Modalities[n-1] == "" {
		t.Modalities = t.Modalities[:n-1]
		t.rows = statistics.Filter(t.rows, func(r reading) bool {
			if r.modality == "" {
				t.Notes.add(r.place(), "%s: rows without a modality among others with one, left out", name)
			}
			return r.modality != ""
		})
	}
	t.Readers, t.Cases = list(func(r reading) string { return r.reader }), list(func(r reading) string { return r.of })
	if len(t.rows) == 0 {
		return fmt.Errorf("%s has no row that counts below its header", name)
	}
	return nil
}

// text is a cell, or empty if the table lacks the column.
func (t *Table) text(line int, column string) string {
	return strings.TrimSpace(cells.Bare(t.cells.Text(line, column)))
}

// inFront is a number, or the number in front of a choice.
var inFront = regexp.MustCompile(`(?s)^([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)(?:\s.*)?$`)

// column has the number of each row, NaN without one. What is none becomes a note, once.
func (t *Table) column(name string) []float64 {
	if known := t.numbers[name]; known != nil {
		return known
	}
	all := make([]float64, len(t.rows))
	for i, row := range t.rows {
		text := t.text(row.line, name)
		all[i] = math.NaN()
		if found := inFront.FindStringSubmatch(text); found != nil {
			if v, err := strconv.ParseFloat(found[1], 64); err == nil {
				all[i] = v
				continue
			}
		}
		if text != "" {
			t.Notes.add(fmt.Sprintf("%s: %q", row.place(), text), `column %s: left out, since no number; write numbers as 0.5, and choices with a number in front, as "1 no"`, name)
		}
	}
	t.numbers[name] = all
	return all
}

// mark is what a value is of.
type mark struct{ modality, reader, of string }

// values are the numbers of a column in the first readings, or in the second ones.
func (t *Table) values(column string, again bool) map[mark]float64 {
	all := map[mark]float64{}
	for i, v := range t.column(column) {
		if row := t.rows[i]; row.again == again && !math.IsNaN(v) {
			all[mark{row.modality, row.reader, row.of}] = v
		}
	}
	return all
}

// common are the readers who have values in each of the modalities, and the cases of which all of
// these readers have one in each.
func (t *Table) common(values map[mark]float64, modalities []string) (readers, of []string) {
	has := func(reader, of string) bool {
		return !slices.ContainsFunc(modalities, func(m string) bool { _, is := values[mark{m, reader, of}]; return !is })
	}
	some := map[mark]bool{}
	for at := range values {
		some[mark{at.modality, at.reader, ""}] = true
	}
	readers = statistics.Filter(t.Readers, func(reader string) bool {
		return !slices.ContainsFunc(modalities, func(m string) bool { return !some[mark{m, reader, ""}] })
	})
	of = statistics.Filter(t.Cases, func(of string) bool {
		return len(readers) > 0 && !slices.ContainsFunc(readers, func(reader string) bool { return !has(reader, of) })
	})
	return readers, of
}

// units numbers the patients of cases, from 1.
func (t *Table) units(of []string) (units []statistics.Unit, n int) {
	at := map[string]statistics.Unit{}
	for _, one := range of {
		patient := t.group[one]
		if at[patient] == 0 {
			at[patient] = statistics.Unit(len(at) + 1)
		}
		units = append(units, at[patient])
	}
	return units, len(at)
}
