package report

import (
	_ "embed"
	"html/template"
	"io"
	"regexp"
)

//go:embed document.html
var page string

var pageTemplate = template.Must(template.New("document").Parse(page))

// mostFiles is the number of files that the page lists.
const mostFiles = 30

// HTML writes the document as one page that needs no other file.
func (d *Document) HTML(w io.Writer) error { return pageTemplate.Execute(w, d) }

// ShownFiles are the first files of the notes.
func (d *Document) ShownFiles() []string { return d.Files[:min(len(d.Files), mostFiles)] }

// MoreFiles is the number of the others.
func (d *Document) MoreFiles() int { return len(d.Files) - len(d.ShownFiles()) }

// minus is a hyphen before a number, and none within a name.
var minus = regexp.MustCompile(`(^|\W)-(\d)`)

// Value is the figure with a true minus sign, and an arrow for what is better or worse.
func (c Cell) Value() string {
	mean, _, _ := c.split()
	arrow := map[Mark]string{Better: "▲ ", Worse: "▼ "}[c.Mark]
	return arrow + minus.ReplaceAllString(mean, "$1−$2")
}

// Below are the lines below the figure: interval, p-value and note.
func (c Cell) Below() (lines []string) {
	if _, interval, found := c.split(); found {
		lines = append(lines, minus.ReplaceAllString(interval, "$1−$2"))
	}
	if c.P != "" {
		lines = append(lines, "p "+Equals(c.P))
	}
	if c.Note != "" {
		lines = append(lines, c.Note)
	}
	return lines
}

// Heading is the name with its arrow on the last word's line.
func (c Column) Heading() string {
	if c.Arrow == "" {
		return c.Name
	}
	return c.Name + "\u00a0" + c.Arrow
}
