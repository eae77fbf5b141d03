// Package evaluate scores one model, or the mean of several, on data sets, on photographs with a
// known place, and on pictures of another kind. Figures of maps are those of package compare.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"mrprism/cmd/study/internal/compare"
	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/input"
	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/output/table"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/model"
	"mrprism/weights"
)

// Request holds the flags.
type Request struct {
	Weights     string // name or file
	Precision   model.Precision
	Device      segment.Opener
	Recurrences int
	input.Images
	Centres, Foreign string // FILE[,FILE] and DIR[,DIR]
	Changed, Turned  bool
	Made             *report.Origin // of the report; or nil
	Outputs
}

// Outputs are the files and the folder to write; empty names are not written.
type Outputs struct {
	Figures  *command.Figures
	CSV, Out string
}

// study is everything that is scored, and its scores.
type study struct {
	Request
	session          segment.Session
	progress         *command.Progress
	compared         *compare.Comparer // of -data, by the mean vote and by the truth; nil without it
	data             *dataset.Dataset  // with the model's classes; nil without -data
	cases            []dataset.Case    // of the split
	centres, foreign []*album

	adapter  string // what computed
	scores   []*caseScore
	centred  []*centreScore
	strange  []*foreignScore
	farthest display.Gallery // the worst of -centres; of none without -out
}

// Run reads the input, scores it and delivers the report.
func Run(ctx context.Context, r Request, stdout, stderr io.Writer) error {
	if err := r.checkOutputs(); err != nil {
		return err
	}
	s, err := r.open()
	if err != nil {
		return err
	}
	about := &s.session.Model.Metadata
	if err := input.CheckImages(ctx, s.cases, paths(s.centres, s.foreign), about.Classes, stderr); err != nil {
		return err
	}
	if r.Made != nil {
		if err := s.originate(ctx); err != nil {
			return err
		}
	}
	s.progress = command.NewProgress(stderr, s.pictures())
	s.session.Note = func(text string) { s.progress.Note("evaluate", text) }
	defer s.session.Close()
	if s.data != nil && !input.SameRaters(about, s.data) {
		s.session.Note(input.OtherRaters(about, s.data))
	}
	stopped := s.scoreAll(ctx)
	s.progress.Clear()
	if len(s.scores)+len(s.centred)+len(s.strange) == 0 {
		return stopped
	}
	made, err := s.report()
	return errors.Join(stopped, err, made.deliver(r.Outputs, stdout))
}

// originate adds weights and data to what the report says of how it was made.
func (s *study) originate(ctx context.Context) error {
	s.Made.AddWeights(s.Weights, s.session.Model)
	if s.compared != nil {
		if err := s.compared.Originate(ctx, s.Made); err != nil {
			return err
		}
	}
	for i, a := range slices.Concat(s.centres, s.foreign) {
		files, folder := paths([]*album{a}), a.name
		if i < len(s.centres) {
			files, folder = append(files, a.name), filepath.Dir(a.name) // the CSV
		}
		sum, err := report.SumOf(ctx, a.name, folder, files)
		if err != nil {
			return err
		}
		s.Made.Data = append(s.Made.Data, sum)
	}
	return nil
}

// checkOutputs checks that the files can be written.
func (r *Request) checkOutputs() error {
	return cmp.Or(command.CheckOutputs(r.CSV, r.Figures.File()), display.CheckVacant(r.Out))
}

// open opens the weights and the data sets, and lists the pictures. Classes of the model that the
// data lacks have no marks. It sets the number of recurrences if the user has not.
func (r *Request) open() (*study, error) {
	m, err := r.model()
	if err != nil {
		return nil, err
	}
	s := &study{session: segment.Session{Model: m, Precision: r.Precision, Open: r.Device}}
	if r.Out != "" {
		s.farthest.Most = 10 // pictures in a gallery of the report
	}
	if r.Data != "" {
		if s.data, err = r.Images.Open(); err != nil {
			return nil, err
		}
		if err = s.data.As(m.Metadata.Classes); err != nil {
			return nil, fmt.Errorf("%w: give data of classes that %s segments", err, m.Metadata.Name)
		}
		if s.cases, err = r.Part(s.data); err != nil {
			return nil, err
		}
		methods := []compare.NamedMethod{{Given: r.Weights, Passes: r.Recurrences + 1, Session: &s.session}}
		request := compare.Request{Images: r.Images, Named: methods, Precision: r.Precision, Device: r.Device, Watch: s.watch, Shown: s.farthest.Most}
		if s.compared, err = compare.Of(request, s.data, s.cases, compare.Mean, compare.Truth); err != nil {
			return nil, err
		}
	}
	if s.centres, err = readEach(r.Centres, readCentres); err != nil {
		return nil, err
	}
	s.foreign, err = readEach(r.Foreign, readForeign)
	s.Request = *r
	return s, err
}

// model opens the weights.
func (r *Request) model() (*weights.Model, error) {
	m, err := segment.LoadEnsemble(r.Weights)
	if err != nil {
		return nil, err
	}
	about := &m.Metadata
	switch settles := segment.SettlesAround(about); {
	case settles && r.Recurrences > 0:
		return nil, fmt.Errorf("%s makes further passes around given marks alone: leave -recurrences out, or see evaluate evidence -h", about.Name)
	case settles:
		r.Recurrences = 0
	case r.Recurrences < 0:
		r.Recurrences = segment.Feedbacks(about)
	}
	if about.Anchor == "" && r.Centres != "" {
		return nil, fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave -centres out", about.Name)
	}
	return m, r.Searched(about)
}

// pictures is the number of pictures to segment, with those of -changed and -turned.
func (s *study) pictures() int {
	n := len(s.cases)
	if s.Changed {
		n += len(s.cases) * len(Changes)
	}
	return n + s.looks()*photographs(s.centres) + photographs(s.foreign)
}

// scoreAll scores all of the input until something fails or ctx ends.
func (s *study) scoreAll(ctx context.Context) error {
	if s.compared != nil {
		err := s.compared.Score(ctx, s.progress)
		mean, truth := s.compared.Sides[0], s.compared.Sides[1]
		for i, image := range mean.Images {
			c := image.Seen.(*caseScore)
			c.score(image.Rows[0], truth.Images[i].Rows[0], input.SameRaters(&s.session.Model.Metadata, s.data))
			c.of(image.Unit)
			s.scores = append(s.scores, c)
		}
		if err == nil && len(mean.Images) == 0 {
			_, err = s.compared.Comparison(mean) // it names the bad files
		}
		if err != nil {
			return err
		}
	}
	if err := s.judgeCentres(ctx); err != nil {
		return err
	}
	return s.judgeForeign(ctx)
}

// deliver writes the files and then prints the tables, or the JSON. It tries each of them even if
// another fails, and returns all errors. Standard output comes last: if its reader has gone away,
// writing to it ends the program.
func (r *Report) deliver(o Outputs, stdout io.Writer) error {
	d := r.Document()
	var failed []error
	if o.CSV != "" {
		failed = append(failed, weights.WriteAtomic(o.CSV, r.csv))
	}
	if o.Out != "" {
		failed = append(failed, report.Save(o.Out, map[string]func(io.Writer) error{
			"cases.csv": r.csv, "report.html": d.HTML, "report.json": func(w io.Writer) error { return table.JSON(w, r) },
		}))
		d.Notes = append(d.Notes, "report: "+filepath.Join(o.Out, "report.html"))
	}
	return errors.Join(append(failed, o.Figures.Write(stdout, r, d.Print))...)
}
