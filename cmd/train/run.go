package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/training"
	"mrprism/weights"
)

// runner is the program's wishes.
type runner struct {
	options       training.Options
	configuration []byte  // for run.yaml
	hours         float64 // 0: no limit
	stopFile      string
	open          func(context.Context) (gpu.Device, error)
	stderr        io.Writer
	bar           *progress
	heldOut       int         // images that are not trained on
	started       atomic.Bool // training has begun, so that an interrupted run has saved
}

// note tells the user something between the lines of the progress.
func (r *runner) note(text string) {
	r.bar.end()
	fmt.Fprintln(r.stderr, text)
}

// patience is the number of devices lost in a row, with no step saved, after which a run ends.
const patience = 2

// train trains to the end. Where the device is lost it is opened again and the run goes on from its last checkpoint, unless `patience` attempts
// in a row have brought no later one. The error is the last attempt's.
func (r *runner) train(ctx context.Context) error {
	began, idle := time.Now(), 0
	if err := r.enough(began); err != nil {
		return fmt.Errorf("%s is there already: delete it to train", r.stopFile)
	}
	saved := training.Saved(r.options.Out)
	for {
		err := r.attempt(ctx, began)
		if !errors.Is(err, gpu.ErrLost) || ctx.Err() != nil {
			return err
		}
		before := saved
		if saved = training.Saved(r.options.Out); saved > before {
			idle = 0
		} else if idle++; idle == patience {
			return err
		}
		r.note(fmt.Sprintf("%v\nopening the device again", err))
		if r.started.Load() && saved >= 0 { // not before: what is there may be another run's
			r.options.Resume, r.options.Init = true, ""
		}
	}
}

// attempt trains on one device, to the end or until it is lost.
func (r *runner) attempt(ctx context.Context, began time.Time) error {
	d, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	r.note(fmt.Sprintf("computing on %s", d.Info()))
	t, err := training.New(ctx, d, r.options, r.bar.reading)
	r.bar.end()
	if err != nil {
		return err
	}
	defer t.Close()
	r.describe(t)
	if err := r.keepConfiguration(); err != nil {
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
	err = t.Run(ctx, func(report training.Report) {
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
	if err == nil || ctx.Err() != nil {
		r.finish(record)
	}
	return err
}

// noBeginning says what to do where a run's folder cannot be written to before its first step.
func noBeginning(err error) error {
	return fmt.Errorf("%w: make room there, or let it be written to, and start again", err)
}

// describe tells what is trained on.
func (r *runner) describe(t *training.Trainer) {
	aside := ""
	r.heldOut = len(t.Dataset.HeldOut())
	if names := t.Aside(); len(names) > 0 {
		aside = fmt.Sprintf(", %d set aside to score by (%s)", len(names), some(names))
	}
	r.note(fmt.Sprintf("%s: %d images to train on%s, %d held out; %s, %s; %d steps, %d done", t.Dataset.Name,
		t.Images(), aside, r.heldOut, several(t.Config.Raters, "rater", "raters"), several(t.Config.Classes, "class", "classes"), t.Steps(), t.Done()))
	if missing := t.Dataset.Missing; len(missing) > 0 {
		r.note(fmt.Sprintf("%d masks are missing, such as %s; they count as labels that nobody gave", len(missing), missing[0]))
	}
}

// several is a number of things.
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

// keepConfiguration writes run.yaml when a run begins.
func (r *runner) keepConfiguration() error {
	path := filepath.Join(r.options.Out, configurationName)
	if _, err := os.Stat(path); err == nil && r.options.Resume {
		return nil // says how the run began
	}
	return weights.WriteAtomic(path, func(w io.Writer) error {
		_, err := w.Write(r.configuration)
		return err
	})
}

// errEnough is why a run stops that was told to before its end.
var errEnough = errors.New("stopped before the end")

// enough says whether to stop after this step, and why.
func (r *runner) enough(began time.Time) error {
	if r.hours > 0 && time.Since(began).Hours() >= r.hours {
		return fmt.Errorf("%w after %v hours", errEnough, r.hours)
	}
	if _, err := os.Stat(r.stopFile); err == nil {
		return fmt.Errorf("%w by the file %s", errEnough, r.stopFile)
	}
	return nil
}

// result is the file of the weights to use: the best ones, where they were scored.
func (r *runner) result() string {
	best := filepath.Join(r.options.Out, r.options.Name+training.BestSuffix+".safetensors")
	if _, err := os.Stat(best); err == nil {
		return best
	}
	return filepath.Join(r.options.Out, r.options.Name+".safetensors")
}

// goOn says where a run that was stopped is, and the command that goes on with it.
func (r *runner) goOn() string {
	return fmt.Sprintf("saved in %s; go on: train -with %s -resume", r.options.Out, quote(filepath.Join(r.options.Out, configurationName)))
}

// quote is an argument as a shell reads it.
func quote(argument string) string {
	if strings.ContainsAny(argument, " '\"$&;()<>|*?") {
		return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return argument
}

// finish draws the curves and tells how the run went.
func (r *runner) finish(record *recorder) {
	o := r.options
	if err := drawCurves(o.Out, o.Name); err != nil {
		r.note(fmt.Sprintf("the curves could not be drawn: %v", err))
	}
	record.summary(r.stderr, o.Name+training.BestSuffix+".safetensors", o.Name+".safetensors", o.Name+".f32.safetensors", training.Checkpoint, configurationName, curvesName, logName, boardFolder)
}
