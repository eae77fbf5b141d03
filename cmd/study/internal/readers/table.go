// Package readers analyses a reading study: several readers judge the same cases, without and with
// a model.
package readers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/statistics"
	"mrprism/internal/files/cells"
	"mrprism/internal/files/imageio"
)

// Table is the readings of a study, or the truth of its cases.
type Table struct {
	Modalities     []string // without, with or both; "" if the study has one without a name
	Readers, Cases []string // by name; the truth has the one reader ""
	Notes          Notes    // Analyse adds to them

	name  string // of the file
	rows  []row
	cells cells.Table
	group map[string]string // by case: the patient, or the case itself
}

type row struct {
	modality, reader, of string
	again                bool // a second reading
	line                 int  // of the cells
}

// Notes say what was left out: by the reason, the rows, readers or cases.
type Notes map[string][]string

// Lines name the first of each.
func (n Notes) Lines() (lines []string) {
	for _, why := range slices.Sorted(maps.Keys(n)) {
		if items := n[why]; len(items) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d, as %s", why, len(items), strings.Join(items[:min(8, len(items))], ", ")))
		}
	}
	return lines
}

const without, with, seconds = "without", "with", "seconds"

// Read reads readings.csv, whose name errors have. Rows that cannot count become notes.
func Read(name string, r io.Reader) (*Table, error) { return read(name, r, "case", "reader") }

// ReadTruth reads truth.csv.
func ReadTruth(name string, r io.Reader) (*Table, error) { return read(name, r, "case") }

func read(name string, r io.Reader, needed ...string) (*Table, error) {
	data, err := io.ReadAll(r)
	t, cut := &Table{name: name, Notes: Notes{}, group: map[string]string{}}, false
	if err == nil {
		t.cells, cut, err = cells.Read(append(bytes.TrimSuffix(data, []byte("\n")), '\n')) // the last line may lack its end
	}
	if cut {
		err = errors.New("a quotation mark near its end has no second one")
	}
	for _, column := range needed {
		if err == nil && !slices.Contains(t.cells.Columns, column) {
			err = fmt.Errorf("row 1 lacks the column %s", column)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; write CSV in UTF-8, with commas between cells and the names of the columns in row 1", name, err)
	}
	for i := range t.cells.Lines {
		of := t.text(i, "case")
		r := row{of: strings.TrimSuffix(of, imageio.Extension(of)), line: i}
		if slices.Contains(needed, "reader") {
			r.modality, r.reader, r.again = t.text(i, "modality"), t.text(i, "reader"), !slices.Contains([]string{"", "0"}, t.text(i, "repeat"))
		}
		t.rows = append(t.rows, r)
	}
	named, seen := slices.ContainsFunc(t.rows, func(r row) bool { return r.modality == without || r.modality == with }), map[row]bool{}
	t.rows = statistics.Filter(t.rows, func(r row) bool {
		key, why := row{r.modality, r.reader, r.of, r.again, 0}, ""
		switch {
		case slices.ContainsFunc(needed, func(column string) bool { return t.text(r.line, column) == "" }):
			why = "rows without " + strings.Join(needed, " or ") + ", left out"
		case r.modality != without && r.modality != with && (named || r.modality != ""):
			why = "rows whose modality is neither without nor with, left out"
		case seen[key]:
			why = "second rows of the same reading, of which the first one counts"
		default:
			seen[key], t.group[r.of] = true, cmp.Or(t.group[r.of], t.text(r.line, "group"), r.of)
			return true
		}
		t.Notes[name+": "+why] = append(t.Notes[name+": "+why], r.String())
		return false
	})
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("%s has no row that counts below row 1; %s", name, strings.Join(t.Notes.Lines(), "; "))
	}
	list := func(column func(row) string) []string {
		return slices.Compact(slices.Sorted(slices.Values(statistics.Tabulate(len(t.rows), func(i int) string { return column(t.rows[i]) }))))
	}
	t.Modalities, t.Readers, t.Cases = list(func(r row) string { return r.modality }), list(func(r row) string { return r.reader }), list(func(r row) string { return r.of })
	slices.Reverse(t.Modalities)
	return t, nil
}

// String names the row as a spreadsheet counts it.
func (r row) String() string {
	return fmt.Sprintf("row %d (%s)", r.line+2, join(r.reader, r.of, r.modality))
}

// join joins the words that there are.
func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), ", ")
}

// text is a cell, or empty if the table lacks the column.
func (t *Table) text(line int, column string) string {
	return strings.TrimSpace(cells.Bare(t.cells.Text(line, column)))
}

// values are the numbers of a column in the first readings, or in the second ones, by modality,
// reader and case; NaN where there is none. A choice has its number in front. What is no number
// becomes a note.
func (t *Table) values(column string, again bool) (all [][][]float64) {
	for range t.Modalities {
		all = append(all, statistics.Tabulate(len(t.Readers), func(int) []float64 { return slices.Repeat([]float64{math.NaN()}, len(t.Cases)) }))
	}
	var wrong, absurd []string
	for _, r := range t.rows {
		text := t.text(r.line, column)
		word, _, _ := strings.Cut(text, " ")
		switch v, err := strconv.ParseFloat(word, 64); {
		case text == "":
		case err != nil || math.IsNaN(v) || math.Abs(v) > 1e15: // whose squares would overflow
			wrong = append(wrong, fmt.Sprintf("%s %q", r, text))
		case column == seconds && (v < 0 || v > 24*60*60):
			absurd = append(absurd, fmt.Sprintf("%s %s", r, text))
		case r.again == again:
			of, _ := slices.BinarySearch(t.Cases, r.of)
			all[slices.Index(t.Modalities, r.modality)][slices.Index(t.Readers, r.reader)][of] = v
		}
	}
	t.Notes[t.name+", column "+column+": no numbers, left out; write numbers as 0.5, and choices with their number in front, as 1 no"] = wrong
	t.Notes[t.name+", column "+column+": below 0 or more than a day, left out"] = absurd
	return all
}

// count is how many values there are.
func count(values []float64) int {
	return len(statistics.Values(values, func(v float64) float64 { return v }))
}

// units numbers the patients of cases, from 1 to n.
func (t *Table) units(of []int) (units []statistics.Unit, n int) {
	at := map[string]statistics.Unit{}
	for _, i := range of {
		patient := t.group[t.Cases[i]]
		at[patient] = cmp.Or(at[patient], statistics.Unit(len(at)+1))
		units = append(units, at[patient])
	}
	return units, len(at)
}
