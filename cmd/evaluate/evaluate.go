package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// evaluate reads all that is to be judged, judges it and delivers the report.
func evaluate(ctx context.Context, r request, wish command.Device, stdout, stderr io.Writer) error {
	if err := command.CheckOutputs(r.jsonFile(), r.csvPath, r.riskPath, r.worstPath); err != nil {
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
	if err := r.sheetable(in, scored); err != nil {
		return err
	}
	if err := in.check(ctx, scored.Metadata.Classes, stderr); err != nil {
		return err
	}
	progress := command.NewProgress(stderr, in.images(&r))
	note := func(text string) {
		progress.Clear()
		fmt.Fprintf(stderr, "%s: %s\n", program, text)
	}
	open := func(m *weights.Model) command.Session {
		return command.Session{Model: m, Precision: r.precision, Open: wish.Open, Note: note}
	}
	s := &scorer{request: r, data: in.data, progress: progress, session: open(scored)}
	s.sheet = s.newSheet()
	defer s.session.Close()
	if against != nil {
		s.against = new(open(against))
		defer s.against.Close()
	}
	if text := s.strangers(); text != "" {
		note(text)
	}
	stopped := s.judge(ctx, in)
	progress.Clear()
	if len(s.cases)+len(s.centred)+len(s.foreign) == 0 {
		return stopped
	}
	return errors.Join(stopped, deliver(s.report(in), r, stdout))
}

// judge scores and judges all of the input until something fails, or the user stops.
func (s *scorer) judge(ctx context.Context, in *input) error {
	if err := s.scoreAll(ctx, in.cases); err != nil {
		return err
	}
	if err := s.judgeCentres(ctx, in.centres); err != nil {
		return err
	}
	return s.judgeForeign(ctx, in.foreign)
}

// models opens the weights, and those to set beside; nil where there are none. It decides how many
// recurrences are scored where the user has not.
func (r *request) models() (scored, against *weights.Model, err error) {
	if scored, err = command.Weights(r.weightsName); err != nil {
		return nil, nil, err
	}
	if r.recurrences < 0 {
		r.recurrences = segment.Feedbacks(&scored.Metadata)
	}
	if r.againstName != "" {
		if against, err = command.Weights(r.againstName); err != nil {
			return nil, nil, err
		}
		if !slices.Equal(against.Metadata.Classes, scored.Metadata.Classes) {
			return nil, nil, fmt.Errorf("%s segments %s, and %s segments %s: compare weights of the same classes in the same order", scored.Metadata.Name,
				strings.Join(scored.Metadata.Classes, ", "), against.Metadata.Name, strings.Join(against.Metadata.Classes, ", "))
		}
	}
	for _, m := range []*weights.Model{scored, against} {
		if m != nil && m.Metadata.Anchor == "" && r.region == "auto" {
			return nil, nil, fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave -roi auto out", m.Metadata.Name)
		}
	}
	if r.centres != "" && scored.Metadata.Anchor == "" {
		return nil, nil, fmt.Errorf("%s does not search photographs (it was trained without -anchor): leave -centres out", scored.Metadata.Name)
	}
	return scored, against, nil
}

// deliver writes the files, -csv first, and then prints the table, or with -json - the JSON:
// whoever reads standard output may go away, which ends the program. What cannot be written keeps
// nothing else from being so; all errors are returned together.
func deliver(report *report, r request, stdout io.Writer) error {
	asJSON := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	show := report.table
	if r.jsonPath == "-" {
		show = asJSON
	}
	var failed []error
	for _, file := range []struct {
		path    string
		content func(io.Writer) error
	}{{r.csvPath, report.csv}, {r.jsonFile(), asJSON}, {r.riskPath, report.riskSVG}, {r.worstPath, report.sheet.jpeg}} {
		if file.path != "" {
			failed = append(failed, weights.WriteAtomic(file.path, file.content))
		}
	}
	return errors.Join(append(failed, show(stdout))...)
}
