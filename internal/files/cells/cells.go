// Package cells reads and writes tables as CSV for spreadsheets.
package cells

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
)

// Guarded is a text in UTF-8, with an apostrophe before it, if a spreadsheet would run it as a formula.
func Guarded(text string) string {
	text = imageio.Valid(text)
	if strings.IndexAny(text, formulas) == 0 {
		return "'" + text
	}
	return text
}

// Bare is the text that Guarded was given.
func Bare(text string) string {
	if bare := strings.TrimPrefix(text, "'"); strings.IndexAny(bare, formulas) == 0 {
		return bare
	}
	return text
}

// formulas are the characters with which a formula may begin.
const formulas = "=+-@\t\r\n＝＋－＠"

// Table is lines of texts below the names of their columns.
type Table struct {
	Columns []string
	Lines   [][]string // each has as many texts as there are columns
	// Semicolons: for a spreadsheet that writes 0,5 for one half, as a German one: semicolons part
	// the cells. It is set before lines are added. Read does not read such a table.
	Semicolons bool
}

// Text is the text in a column of a line, or empty if the table lacks the column.
func (t *Table) Text(line int, column string) string {
	if i := slices.Index(t.Columns, column); i >= 0 {
		return t.Lines[line][i]
	}
	return ""
}

// mark is the byte order mark, by which spreadsheets recognise UTF-8.
const mark = "\ufeff"

// Bytes is the table as CSV in UTF-8, with a byte order mark and lines that end in CR LF.
func (t *Table) Bytes() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(mark)
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	if t.Semicolons {
		w.Comma = ';'
	}
	if err := w.Write(t.Columns); err != nil {
		return nil, err
	}
	err := w.WriteAll(t.Lines)
	return out.Bytes(), err
}

// Read reads a table that Bytes wrote. It leaves out a last line that is cut off.
func Read(data []byte) (t Table, cut bool, err error) {
	data = bytes.TrimPrefix(data, []byte(mark))
	r, lines := csv.NewReader(bytes.NewReader(data)), [][]string(nil)
	for {
		line, err := r.Read()
		switch {
		case err == io.EOF && len(lines) == 0:
			return t, cut, errors.New("it is empty")
		case err == io.EOF:
			return Table{Columns: lines[0], Lines: lines[1:]}, cut, nil
		case r.InputOffset() == int64(len(data)) && (!bytes.HasSuffix(data, []byte("\n")) || errors.Is(err, csv.ErrQuote)):
			cut = true
		case err != nil:
			return t, false, err
		default:
			lines = append(lines, line)
		}
	}
}
