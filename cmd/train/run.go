package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"mrprism/internal/command/computing"
	"mrprism/internal/output/table"
	"mrprism/internal/program/cli"
	"mrprism/internal/train"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// runner trains one run.
type runner struct {
	options       train.Options
	configuration []byte  // for run.yaml
	divided       string  // the split of the run that -with repeats; empty: not known, or none
	hours         float64 // 0: no limit
	stopFile      string
	judge         string         // the model to compare with at the end; empty: none
	initial       string         // the weights that the run began from; empty: none
	finished      *train.Trainer // of the last attempt that came to its end, closed
	open          func(context.Context) (gpu.Device, error)
	stderr        io.Writer
	bar           *progress
	heldOut       int         // images that are not trained on
	started       atomic.Bool // training has begun: an interrupted run saves
}

func newRunner(stderr io.Writer) *runner { return &runner{stderr: stderr, bar: newProgress(stderr)} }

// note prints a message between the lines of the progress.
func (r *runner) note(text string) {
	r.bar.end()
	fmt.Fprintln(r.stderr, cli.Message(text))
}

// patience is the number of lost devices in a row, without a saved step, after which a run ends.
const patience = 2

// train trains to the end, and then judges.
func (r *runner) train(ctx context.Context) error {
	began := time.Now()
	if err := r.follow(ctx, began); err != nil || r.options.Cross == 0 {
		return err
	}
	return r.cross(ctx, began)
}

// follow trains to the end. If the device is lost, follow opens it again and continues from the
// last checkpoint. After patience attempts in a row without a later checkpoint it returns the error
// of the last one.
func (r *runner) follow(ctx context.Context, began time.Time) error {
	idle := 0
	if _, err := os.Stat(r.stopFile); err == nil {
		return fmt.Errorf("%s is there already, and it stops a run: delete it to train", r.stopFile)
	}
	saved := train.Saved(r.options.Out)
	for {
		err := r.attempt(ctx, began)
		if !errors.Is(err, gpu.ErrLost) || ctx.Err() != nil || r.options.Ranks != nil { // other ranks wait
			return err
		}
		before := saved
		if saved = train.Saved(r.options.Out); saved > before {
			idle = 0
		} else if idle++; idle == patience {
			return err
		}
		r.note(fmt.Sprintf("%v\nopening the device again", err))
		if r.started.Load() && saved >= 0 { // before that, the checkpoint may be of another run
			r.options.Resume, r.options.Init = true, ""
		}
	}
}

// prepare opens the device, compiles the training step and hands it to work.
func (r *runner) prepare(ctx context.Context, work func(t *train.Trainer) error) error {
	d, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	r.note(fmt.Sprintf("computing on %s", d.Info()))
	t, err := train.New(ctx, d, r.options, r.bar.reading)
	r.bar.end()
	if err != nil {
		return err
	}
	defer t.Close()
	r.describe(t)
	return work(t)
}

// attempt trains on one device, to the end or until the device is lost.
func (r *runner) attempt(ctx context.Context, began time.Time) error {
	return r.prepare(ctx, func(t *train.Trainer) error {
		if r.options.Follows() {
			r.started.Store(true)
			return t.Run(ctx, func(train.Report) {})
		}
		if err := r.keepConfiguration(t.Split()); err != nil {
			return noBeginning(err)
		}
		record, err := openRecorder(r.options.Out, t.Done(), r.note)
		if err != nil {
			return noBeginning(err)
		}
		defer record.close()
		r.started.Store(true)
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		err = t.Run(ctx, func(report train.Report) {
			r.bar.show(report)
			record.step(report)
			if why := r.enough(began); why != nil {
				stop(why)
			}
		})
		r.bar.end()
		if why := context.Cause(ctx); errors.Is(err, context.Canceled) && errors.Is(why, errEnough) {
			err = why
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) { // also where another rank was told to end
			r.finish(record)
		}
		switch {
		case err != nil:
		case r.judge == "":
			if failed := r.publish(t, nil); failed != nil {
				r.note(fmt.Sprintf("the card could not be written: %v", failed))
			}
		case r.crossed():
			r.finished = t
		default:
			err = r.compare(ctx, t)
		}
		return err
	})
}

// compare compares the model with that of -judge.
func (r *runner) compare(ctx context.Context, t *train.Trainer) error {
	r.note("comparing with " + r.judge)
	j, err := t.Judge(ctx, r.result(), r.judge)
	if err != nil {
		return err
	}
	return r.publish(t, j)
}

// publish writes the card, also as data. It prints and writes a judgement; nil is none.
func (r *runner) publish(t *train.Trainer, j *train.Judgement) error {
	m, err := computing.Weights(r.result())
	if err != nil {
		return err
	}
	text, beside := t.Card(&m.Metadata, j, time.Now()), filepath.Join(r.options.Out, r.options.Name)
	card, err := weights.NewCard(text, m)
	if err == nil {
		err = errors.Join(weights.WriteFile(beside+".md", []byte(text)), weights.WriteAtomic(beside+weights.CardEnding, card.Write))
	}
	if err != nil || j == nil {
		return err
	}
	r.note(j.Says)
	return weights.WriteAtomic(filepath.Join(r.options.Out, judgementName), func(w io.Writer) error { return table.JSON(w, j) })
}

// judgementName is the file of -judge in the run's folder.
const judgementName = "judgement.json"

// noBeginning adds what to do if a run's folder cannot be written to before the first step.
func noBeginning(err error) error {
	return fmt.Errorf("%w: make room there, or let it be written to, and start again", err)
}

// describe prints what the run trains on.
func (r *runner) describe(t *train.Trainer) {
	aside := ""
	r.heldOut = len(t.Dataset.HeldOut())
	if names := t.Aside(); len(names) > 0 {
		aside = fmt.Sprintf(", %d set aside to score by (%s)", len(names), some(names))
	}
	r.note(fmt.Sprintf("%s: %s to train on%s, %d held out; %s, %s; %d steps, %d done", t.Dataset.Name, several(t.Images(), "image", "images"),
		aside, r.heldOut, several(t.Config.Raters, "rater", "raters"), several(t.Config.Classes, "class", "classes"), t.Steps(), t.Done()))
	if split := t.Split(); split != "" {
		r.note("split: " + split)
	}
	if r.divided != "" && r.divided != t.Split() && !r.options.Resume {
		r.note(fmt.Sprintf("the run of -with had another split, %s: results will differ", r.divided))
	}
	if missing := t.Dataset.Missing; len(missing) > 0 {
		r.note(fmt.Sprintf("%s missing, such as %s: train counts these labels as not given", several(len(missing), "mask is", "masks are"), missing[0]))
	}
}

// several is a number with the singular or the plural.
func several(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// some are the first few names.
func some(names []string) string {
	const few = 6
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

// keepConfiguration writes run.yaml when a run begins, with what identifies its split.
func (r *runner) keepConfiguration(split string) error {
	path := filepath.Join(r.options.Out, configurationName)
	if _, err := os.Stat(path); err == nil && r.options.Resume {
		return nil // it says how the run began
	}
	configuration := r.configuration
	if split != "" {
		configuration = fmt.Appendf(slices.Clone(configuration), "\n# the split of the images\n%s: %s\n", dividedKey, quoted(split))
	}
	return weights.WriteFile(path, configuration)
}

// errEnough is the reason of a run that -hours or -stop-file stops.
var errEnough = errors.New("stopped before the end")

// enough is an errEnough if the run should stop after this step.
func (r *runner) enough(began time.Time) error {
	if r.hours > 0 && time.Since(began).Hours() >= r.hours {
		return fmt.Errorf("%w after %v hours", errEnough, r.hours)
	}
	if _, err := os.Stat(r.stopFile); err == nil {
		return fmt.Errorf("%w by the file %s", errEnough, r.stopFile)
	}
	return nil
}

// result is the file of the weights to use: the best weights if they were scored.
func (r *runner) result() string {
	best := filepath.Join(r.options.Out, r.options.Name+train.BestSuffix+".safetensors")
	if _, err := os.Stat(best); err == nil {
		return best
	}
	return filepath.Join(r.options.Out, r.options.Name+".safetensors")
}

// goOn says where a stopped run is, and the command that continues it.
func (r *runner) goOn() string {
	return fmt.Sprintf("saved in %s; go on: train -with %s -resume", r.options.Out, quote(filepath.Join(r.options.Out, configurationName)))
}

// quote quotes an argument for a shell, unless it has only characters that mean nothing to shells.
func quote(argument string) string {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./,:=@%+", r)
	}
	if strings.ContainsFunc(argument, special) {
		return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return argument
}

// finish draws the curves and prints the summary.
func (r *runner) finish(record *recorder) {
	o := r.options
	if err := drawCurves(o.Out, o.Name); err != nil {
		r.note(fmt.Sprintf("the curves could not be drawn: %v", err))
	}
	record.summary(r.stderr, o.Name+train.BestSuffix+".safetensors", o.Name+".safetensors", o.Name+".f32.safetensors",
		train.Checkpoint, configurationName, curvesName, previewName, logName, boardFolder)
}
