package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/app/command"
	"mrprism/internal/app/segment"
	"mrprism/weights"
)

// evaluate reads the input, scores it and delivers the report.
func evaluate(ctx context.Context, r request, device command.Device, stdout, stderr io.Writer) error {
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
	if err := in.check(ctx, scored.Metadata.Classes, stderr); err != nil {
		return err
	}
	progress := command.NewProgress(stderr, in.images(&r))
	note := func(text string) { progress.Note(program, text) }
	open := func(m *weights.Model) command.Session {
		return command.Session{Model: m, Precision: r.precision, Open: device.Open, Note: note}
	}
	s := &scorer{request: r, data: in.data, progress: progress, session: open(scored)}
	s.sheet = s.newSheet()
	defer s.session.Close()
	if against != nil {
		s.against = new(open(against))
		defer s.against.Close()
	}
	if s.data != nil && !s.sameRaters() {
		note(s.otherRaters())
	}
	stopped := s.scoreInput(ctx, in)
	progress.Clear()
	if len(s.cases)+len(s.centred)+len(s.foreign) == 0 {
		return stopped
	}
	return errors.Join(stopped, s.report(in).deliver(r.outputs, stdout))
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
func (r *request) models() (scored, against *weights.Model, err error) {
	if scored, err = command.Weights(r.weights); err != nil {
		return nil, nil, err
	}
	if r.recurrences < 0 {
		r.recurrences = segment.Feedbacks(&scored.Metadata)
	}
	if r.against != "" {
		if against, err = command.Weights(r.against); err != nil {
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
		{scored, "-roi auto", r.region == "auto"}, {against, "-roi auto", r.region == "auto"}, {scored, "-centres", r.centres != ""},
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
func (r *report) deliver(o outputs, stdout io.Writer) error {
	asJSON := func(w io.Writer) error { return command.WriteJSON(w, r) }
	show := r.table
	if o.json == "-" {
		show = asJSON
	}
	var failed []error
	for i, content := range []func(io.Writer) error{r.csv, asJSON, r.riskSVG, r.sheet.jpeg} {
		if path := o.files()[i]; path != "" {
			failed = append(failed, weights.WriteAtomic(path, content))
		}
	}
	return errors.Join(append(failed, show(stdout))...)
}
