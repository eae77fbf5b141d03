// Package table prints figures: in columns for people, and as JSON for programs.
package table

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"mrprism/internal/program/cli"
)

// Table is text for people. Tabs separate the cells of a line, and cells stand in columns.
type Table struct {
	text    strings.Builder
	columns *tabwriter.Writer
}

// New makes an empty table. The gap is the number of spaces between columns; flags are those
// of package tabwriter.
func New(gap int, flags uint) *Table {
	t := &Table{}
	t.columns = tabwriter.NewWriter(&t.text, 0, 0, gap, ' ', flags)
	return t
}

// Line adds a line.
func (t *Table) Line(format string, args ...any) { fmt.Fprintf(t.columns, format+"\n", args...) }

// Break ends the columns: lines that follow have columns of their own width.
func (t *Table) Break() { _ = t.columns.Flush() } // a strings.Builder takes everything

// Title adds an empty line and a title. Lines that follow have columns of their own width.
func (t *Table) Title(format string, args ...any) {
	t.Break()
	t.Line("\n"+format, args...)
	t.Break()
}

// Print writes the table.
func (t *Table) Print(w io.Writer) error {
	t.Break()
	_, err := io.WriteString(w, cli.Printable(t.text.String()))
	return err
}

// JSON writes a value with an indent of two spaces.
func JSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
