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

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/input"
	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/output/table"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/model"
)

// Request holds the flags of evaluate compare.
type Request struct {
	input.Images
	Reference, Out string
	Named          []NamedMethod // in the order of the command line
	Draws          int           // possible masks of each method
	Precision      model.Precision
	Device         segment.Opener
	Watch          Watch          // the first method's results; or nil
	Shown          int            // images in a gallery
	Made           *report.Origin // of the report; or nil
	Figures        *command.Figures
}

// Watch sees what a network makes of an image with its marks, and says what to keep beside the
// rows. If the device is lost, it sees the image again.
type Watch func(ctx context.Context, e *segment.Engine, l *dataset.Loaded, r *segment.Result) (seen any, err error)

// References beside rater:NAME.
const (
	Mean  = "mean"
	Truth = "truth"
)

// NamedMethod is a method as the command line gives it. Several of one name are runs of one method,
// such as trainings by several seeds.
type NamedMethod struct {
	Name, Given string           // name is empty if the user gave none
	Predictions bool             // a folder; otherwise weights
	Passes      int              // of weights, if not those that they were trained for
	Session     *segment.Session // with the weights, which stays open; or nil
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
	if err := display.CheckVacant(r.Out); err != nil {
		return err
	}
	r.Shown = 3
	c, err := Open(r)
	if err != nil {
		return err
	}
	if r.Made != nil {
		if err := c.Originate(ctx, r.Made); err != nil {
			return err
		}
	}
	stopped := c.Score(ctx, command.NewProgress(stderr, len(c.cases)))
	compared, err := c.Comparison(c.Sides[0])
	if compared == nil {
		return cmp.Or(stopped, err)
	}
	return errors.Join(compared.deliver(r, stdout), stopped, err)
}

// Originate adds the data and the methods to what a report says of how it was made.
func (c *Comparer) Originate(ctx context.Context, made *report.Origin) error {
	for i, m := range c.methods {
		switch p := m.predictor.(type) {
		case *network:
			made.AddWeights(c.Named[i].Given, p.session.Model)
		case *folder:
			s, err := report.SumOf(ctx, m.label(), p.dir, p.paths())
			if err != nil {
				return err
			}
			made.Maps = append(made.Maps, s)
		}
	}
	return made.AddData(ctx, c.cases, c.data.Classes)
}

// Score scores all methods until one fails.
func (c *Comparer) Score(ctx context.Context, progress *command.Progress) error {
	c.progress = progress
	defer progress.Clear()
	for i, m := range c.methods {
		n, computes := m.predictor.(*network)
		if !computes || c.Named[i].Session != nil {
			continue
		}
		defer n.session.Close()
		n.session.Precision, n.session.Open = c.Precision, c.Device
		n.session.Note = func(text string) { progress.Note("evaluate compare", text) }
	}
	for _, note := range c.data.Notes() {
		progress.Note("evaluate compare", note.String())
	}
	return c.scoreAll(ctx)
}

// Comparison is what was scored against one reference; nil if nothing was. The error names what
// could not be scored, beside the comparison of the rest.
func (c *Comparer) Comparison(s *Side) (*Comparison, error) {
	failed := c.failure(s)
	if len(s.Images) == 0 {
		return nil, failed
	}
	if !slices.ContainsFunc(s.Unmarked, func(n int) bool { return n < len(s.Images) }) {
		return nil, fmt.Errorf("%s: no image has the reference %s", c.data.Name, s.reference)
	}
	return c.report(s), failed
}

// failure is the error of predictions that were left out; nil without any.
func (c *Comparer) failure(s *Side) error {
	if len(c.troubles) == 0 {
		if len(s.Images) == 0 {
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
	cases, err := r.Part(data)
	if err != nil {
		return nil, err
	}
	return Of(r, data, cases, r.Reference)
}

// Of opens the methods, for cases of a data set against references.
func Of(r Request, data *dataset.Dataset, cases []dataset.Case, references ...string) (*Comparer, error) {
	c := &Comparer{Request: r, data: data, cases: cases, units: dataset.Units(cases)}
	for _, reference := range references {
		s := &Side{reference: reference, rater: -1, galleries: newGalleries(r.Shown)}
		if name, ok := strings.CutPrefix(reference, "rater:"); ok {
			if s.rater = slices.Index(data.Raters, name); s.rater < 0 {
				return nil, fmt.Errorf("-reference %s: %s has the raters %s", reference, data.Name, strings.Join(data.Raters, ", "))
			}
		}
		c.Sides = append(c.Sides, s)
	}
	for _, one := range r.Named {
		m, err := c.openMethod(one)
		if err != nil {
			return nil, err
		}
		c.methods = append(c.methods, m)
	}
	if c.clash() != nil {
		c.nameBySource()
	}
	c.groups = grouped(c.methods)
	return c, c.clash()
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
		m, err = newNetwork(one, c.Images, c.data, c.Draws)
	}
	if err != nil {
		return nil, err
	}
	m.Name = cmp.Or(one.Name, m.Name)
	if runs := statistics.Filter(c.Named, func(other NamedMethod) bool { return other.Name == one.Name }); one.Name != "" && len(runs) > 1 {
		m.Run = 1 + len(statistics.Filter(c.methods, func(other *method) bool { return other.Name == one.Name }))
	}
	if n, computes := m.predictor.(*network); computes && len(c.methods) == 0 {
		n.watch = c.Watch
	}
	for _, t := range troubles {
		c.troubles = append(c.troubles, trouble{m.label(), t.Kind, t.Text})
	}
	return m, nil
}

// deliver writes the files of -out, if it is given, and prints the table or the JSON.
func (r *Comparison) deliver(of Request, stdout io.Writer) error {
	d := r.Document()
	if of.Out == "" {
		return of.Figures.Write(stdout, r, d.Print)
	}
	failed := report.Save(of.Out, map[string]func(io.Writer) error{
		"cases.csv": r.casesCSV, "summary.csv": r.summaryCSV, "report.html": d.HTML,
		"report.json": func(w io.Writer) error { return table.JSON(w, r) },
	})
	d.Notes = append(d.Notes, "report: "+filepath.Join(of.Out, "report.html"))
	return errors.Join(failed, of.Figures.Write(stdout, r, d.Print))
}
