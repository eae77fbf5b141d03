// Package evaluate scores one model, or the mean of several, on data sets, on photographs with a
// known place, and on pictures of another kind.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"mrprism/internal/command"
	"mrprism/internal/segment"
	"mrprism/internal/study/compare"
	"mrprism/internal/study/score"
	"mrprism/model"
	"mrprism/weights"
)

// Request holds the flags.
type Request struct {
	Weights, Against string // names or files
	Precision        model.Precision
	Device           command.Opener
	Recurrences      int
	score.Images
	Centres, Foreign string // FILE[,FILE] and DIR[,DIR]
	Changed, Turned  bool
	Outputs
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
	scored, err := r.model()
	if err != nil {
		return err
	}
	in, err := r.open(scored)
	if err != nil {
		return err
	}
	against, err := r.against()
	if err := cmp.Or(err, r.checkSheet(in, scored)); err != nil {
		return err
	}
	if err := score.CheckImages(ctx, in.cases, in.pictures(), scored.Metadata.Classes, stderr); err != nil {
		return err
	}
	progress := command.NewProgress(stderr, in.images(&r))
	note := func(text string) { progress.Note("evaluate", text) }
	s := &scorer{Request: r, data: in.data, progress: progress, session: command.Session{Model: scored, Precision: r.Precision, Open: r.Device, Note: note}}
	s.sheet = s.newSheet()
	defer s.session.Close()
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
	made := s.report(in)
	for _, c := range against {
		if stopped == nil && (c.Reference == "mean" || s.hasTruth()) {
			var compared *compare.Comparison
			compared, stopped = c.Compare(ctx, stderr)
			if compared != nil {
				made.Against = append(made.Against, compared)
			}
		}
	}
	return errors.Join(stopped, made.deliver(r.Outputs, stdout))
}

// against opens the comparisons with the weights of -against, by the mean vote and by the truth.
func (r *Request) against() (all []*compare.Comparer, err error) {
	if r.Against == "" {
		return nil, nil
	}
	for _, reference := range []string{"mean", "truth"} {
		c, err := compare.Open(compare.Request{
			Images: r.Images, Reference: reference, Precision: r.Precision, Device: r.Device,
			Named: []compare.NamedMethod{{Given: r.Weights, Passes: r.Recurrences + 1}, {Given: r.Against}},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// hasTruth reports whether a structure of some image has been scored beside the truth.
func (s *scorer) hasTruth() bool {
	return slices.ContainsFunc(s.cases, func(c *caseScore) bool {
		return slices.ContainsFunc(c.Classes, func(k *classScore) bool { return k != nil && k.Truth != nil })
	})
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

// model opens the weights. It also sets the number of recurrences if the user has not.
func (r *Request) model() (*weights.Model, error) {
	m, err := command.Ensemble(r.Weights)
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
