// Package compare scores several models and folders of predictions on one data set.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
	"mrprism/model"
)

// Request holds the flags of evaluate compare.
type Request struct {
	score.Images
	Reference, Out string
	Named          []NamedMethod // in the order of the command line
	Precision      model.Precision
	Device         command.Opener
}

// NamedMethod is a method as the command line gives it.
type NamedMethod struct {
	Name, Given string // name is empty if the user gave none
	Predictions bool   // a folder; otherwise weights
	Passes      int    // of weights, if not those that they were trained for
}

// Add adds the methods of a list NAME=VALUE,VALUE: folders of predictions, or weights.
func (r *Request) Add(list string, predictions bool) error {
	for one := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(one, "=")
		if !found {
			name, value = "", one
		}
		if value = strings.TrimSpace(value); value == "" {
			return errors.New("a name is empty; remove the comma or give the name")
		}
		r.Named = append(r.Named, NamedMethod{Name: strings.TrimSpace(name), Given: value, Predictions: predictions})
	}
	return nil
}

// Run scores all methods and delivers the report. Bad predictions make it fail in the end,
// after the report has been written without them.
func Run(ctx context.Context, r Request, stdout, stderr io.Writer) error {
	if r.Out != "" {
		if err := report.CheckVacant(r.Out); err != nil {
			return err
		}
	}
	c, err := Open(r)
	if err != nil {
		return err
	}
	compared, err := c.Compare(ctx, stderr)
	if compared == nil {
		return err
	}
	return errors.Join(compared.deliver(r.Out, stdout), err)
}

// Compare scores all methods. The error names what could not be scored, beside the comparison of
// the rest. The comparison is nil if nothing was scored.
func (c *Comparer) Compare(ctx context.Context, stderr io.Writer) (*Comparison, error) {
	c.progress = command.NewProgress(stderr, len(c.cases))
	for _, m := range c.methods {
		defer m.Close()
		if n, computes := m.predictor.(*network); computes {
			n.session.Precision, n.session.Open = c.Precision, c.Device
			n.session.Note = func(text string) { c.progress.Note("evaluate compare", text) }
		}
	}
	if text := c.data.UnlistedNote(); text != "" {
		c.progress.Note("evaluate compare", text)
	}
	stopped := c.scoreAll(ctx)
	c.progress.Clear()
	if len(c.records) == 0 {
		return nil, cmp.Or(stopped, c.failure())
	}
	if !slices.ContainsFunc(c.unmarked, func(n int) bool { return n < len(c.records) }) {
		return nil, cmp.Or(stopped, fmt.Errorf("%s: no image has the reference %s", c.data.Name, c.Request.Reference))
	}
	return c.report(), errors.Join(stopped, c.failure())
}

// failure is the error of predictions that were left out; nil without any.
func (c *Comparer) failure() error {
	if len(c.troubles) == 0 {
		if len(c.records) == 0 {
			return fmt.Errorf("%s: no image was scored", c.data.Name)
		}
		return nil
	}
	return fmt.Errorf("no figure has what could not be scored: %w", dataset.Problems(statistics.Tabulate(len(c.troubles), func(i int) string {
		return strings.TrimPrefix(c.troubles[i].Method+": ", ": ") + c.troubles[i].Text
	})))
}

// Open opens the data set and the methods.
func Open(r Request) (*Comparer, error) {
	data, err := r.Images.Open()
	if err == nil && data.AsLevels() {
		err = fmt.Errorf("%s: agreement levels and people cannot be compared with heads together; give -data each folder alone", data.Name)
	}
	if err != nil {
		return nil, err
	}
	c := &Comparer{Request: r, data: data, rater: -1}
	if c.cases, err = r.Part(data); err != nil {
		return nil, err
	}
	if name, ok := strings.CutPrefix(r.Reference, "rater:"); ok {
		if c.rater = slices.Index(data.Raters, name); c.rater < 0 {
			return nil, fmt.Errorf("-reference %s: %s has the raters %s", r.Reference, data.Name, strings.Join(data.Raters, ", "))
		}
	}
	for _, one := range r.Named {
		m, err := c.openMethod(one)
		if err != nil {
			return nil, err
		}
		c.methods = append(c.methods, m)
	}
	if sameName(c.methods) != "" {
		c.nameBySource()
	}
	if name := sameName(c.methods); name != "" {
		return nil, fmt.Errorf("two methods are called %s; name them, as in -weights first=FILE,second=FILE", name)
	}
	return c, nil
}

// nameBySource calls the methods without a name from the user as their files.
func (c *Comparer) nameBySource() {
	for i, one := range c.Request.Named {
		c.methods[i].Name = cmp.Or(one.Name, one.Given)
	}
}

func (c *Comparer) openMethod(one NamedMethod) (m *method, err error) {
	var troubles []trouble
	if one.Predictions {
		m, troubles, err = newFolder(one.Given, c.data)
	} else {
		m, err = newNetwork(one, c.Images, c.data)
	}
	if err != nil {
		return nil, err
	}
	m.Name = cmp.Or(one.Name, m.Name)
	for _, t := range troubles {
		c.troubles = append(c.troubles, trouble{m.Name, t.Kind, t.Text})
	}
	return m, nil
}

// deliver writes the files of -out, if it is given, and prints the table.
func (r *Comparison) deliver(dir string, stdout io.Writer) error {
	d := r.Document()
	if dir == "" {
		return d.Print(stdout)
	}
	failed := report.Save(dir, map[string]func(io.Writer) error{
		"cases.csv": r.casesCSV, "summary.csv": r.summaryCSV, "report.md": d.Markdown, "tables.tex": d.LaTeX, "report.html": d.HTML,
		"report.json": func(w io.Writer) error { return command.WriteJSON(w, r) },
	})
	d.Notes = append(d.Notes, "report: "+filepath.Join(dir, "report.html"))
	return errors.Join(failed, d.Print(stdout))
}
