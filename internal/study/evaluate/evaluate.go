// Package evaluate scores one model, or the mean of several, on data sets, on photographs with a
// known place, and on pictures of another kind.
package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/segment"
	"mrprism/internal/study/score"
	"mrprism/model"
	"mrprism/weights"
)

// Request holds the flags.
type Request struct {
	Weights, Against string // names or files
	Precision        model.Precision
	Open             command.Opener
	Recurrences      int
	Sources
	Outputs
}

// Sources are the images to score, and how.
type Sources struct {
	Data, Split, Region string
	On                  string // the part of the split
	Centres, Foreign    string
	Changed, Turned     bool
}

// Outputs are the files to write; empty names are not written. The JSON goes to standard output if
// its name is "-".
type Outputs struct{ JSON, CSV, Risk, Worst string }

// files are the files to write, without standard output.
func (o Outputs) files() []string {
	if o.JSON == "-" {
		o.JSON = ""
	}
	return []string{o.CSV, o.JSON, o.Risk, o.Worst}
}

// Run reads the input, scores it and delivers the report.
func Run(ctx context.Context, r Request, stdout, stderr io.Writer) error {
	if err := command.CheckOutputs(r.files()...); err != nil {
		return err
	}
	scored, against, err := r.models()
	if err != nil {
		return err
	}
	in, err := r.open(scored)
	if err != nil {
		return err
	}
	if err := r.checkSheet(in, scored); err != nil {
		return err
	}
	if err := score.CheckImages(ctx, in.cases, in.pictures(), scored.Metadata.Classes, stderr); err != nil {
		return err
	}
	progress := command.NewProgress(stderr, in.images(&r))
	note := func(text string) { progress.Note("evaluate", text) }
	open := func(m *weights.Model) command.Session {
		return command.Session{Model: m, Precision: r.Precision, Open: r.Open, Note: note}
	}
	s := &scorer{Request: r, data: in.data, progress: progress, session: open(scored)}
	s.sheet = s.newSheet()
	defer s.session.Close()
	if against != nil {
		s.against = new(open(against))
		defer s.against.Close()
	}
	if s.data != nil && s.data.UnlistedNote() != "" {
		note(s.data.UnlistedNote())
	}
	if s.data != nil && !score.SameRaters(&scored.Metadata, s.data) {
		note(score.OtherRaters(&scored.Metadata, s.data))
	}
	stopped := s.scoreInput(ctx, in)
	progress.Clear()
	if len(s.cases)+len(s.centred)+len(s.foreign) == 0 {
		return stopped
	}
	return errors.Join(stopped, s.report(in).deliver(r.Outputs, stdout))
}

// scoreInput scores all of the input until something fails or ctx ends.
func (s *scorer) scoreInput(ctx context.Context, in *input) error {
	if err := s.scoreAll(ctx, in.cases); err != nil {
		return err
	}
	if err := s.judgeCentres(ctx, in.centres); err != nil {
		return err
	}
	return s.judgeForeign(ctx, in.foreign)
}

// models opens the weights and those of -against, which are nil without that flag. It also sets the
// number of recurrences if the user has not.
func (r *Request) models() (scored, against *weights.Model, err error) {
	if scored, err = command.Ensemble(r.Weights); err != nil {
		return nil, nil, err
	}
	switch settles := segment.SettlesAround(&scored.Metadata); {
	case settles && r.Recurrences > 0:
		return nil, nil, fmt.Errorf("%s makes further passes around given marks alone: leave -recurrences out, or see evaluate evidence -h", scored.Metadata.Name)
	case settles:
		r.Recurrences = 0
	case r.Recurrences < 0:
		r.Recurrences = segment.Feedbacks(&scored.Metadata)
	}
	if r.Against != "" {
		if against, err = command.Ensemble(r.Against); err != nil {
			return nil, nil, err
		}
		if !slices.Equal(against.Metadata.Classes, scored.Metadata.Classes) {
			return nil, nil, fmt.Errorf("%s segments %s, and %s segments %s: compare weights of the same classes in the same order",
				scored.Metadata.Name, strings.Join(scored.Metadata.Classes, ", "), against.Metadata.Name, strings.Join(against.Metadata.Classes, ", "))
		}
	}
	for _, need := range []struct {
		model *weights.Model
		flag  string
		given bool
	}{
		{scored, "-roi auto", r.Region == "auto"}, {against, "-roi auto", r.Region == "auto"}, {scored, "-centres", r.Centres != ""},
	} {
		if need.given && need.model != nil && need.model.Metadata.Anchor == "" {
			return nil, nil, fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave %s out", need.model.Metadata.Name, need.flag)
		}
	}
	return scored, against, nil
}

// deliver writes the files and then prints the table, or the JSON. It tries each of them even if
// another fails, and returns all errors. Standard output comes last: if its reader has gone away,
// writing to it ends the program.
func (r *Report) deliver(o Outputs, stdout io.Writer) error {
	asJSON := func(w io.Writer) error { return command.WriteJSON(w, r) }
	show := r.Table
	if o.JSON == "-" {
		show = asJSON
	}
	var failed []error
	for i, content := range []func(io.Writer) error{r.csv, asJSON, r.riskSVG, r.sheet.JPEG} {
		if path := o.files()[i]; path != "" {
			failed = append(failed, weights.WriteAtomic(path, content))
		}
	}
	return errors.Join(append(failed, show(stdout))...)
}
