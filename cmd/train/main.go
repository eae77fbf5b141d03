// Command train trains a MrPrism model on multi-rater folders.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/training"
	"mrprism/weights"
)

const program = "train"

const intro = `train - learns a MrPrism model from images that several raters have annotated (Algorithm 1 of the paper)

usage: train -data DIR[,DIR] -out RUN [flags]
       train import LAYOUT SRC DST [flags]       makes a data set of a published one: riga, refuge, qubiq; see "train import -h"
       train check DIR[,DIR] [flags]             reads a data set and tells what is wrong with it; see "train check -h"
       train synthetic SCENARIO DIR [flags]      makes a data set whose truth is known; see "train synthetic -h"

A data set is a folder: dataset.json (name, classes, raters, labels), images/NAME.png|jpg, raters/RATER/CLASS/NAME.png of 0 and
255. A missing mask is a missing label. Every fifth image in sorted order is held out and never trained on: score it with
"evaluate".

The run's folder receives
  checkpoint.safetensors   everything needed to go on, bit for bit; the one before it is kept beside it
  NAME.safetensors         the weights so far, int8, for "segment" and the site;  NAME.f32.safetensors  the same in float32
  NAME.best.safetensors    with -validate or -fold: the weights that scored best so far, also in float32
  run.yaml                 every flag's value, commit and seed: "train -with RUN/run.yaml -out ANOTHER" repeats the run
  log.jsonl                one line a step
  tensorboard/             the same and pictures of masks: "tensorboard --logdir RUN"
  curves.svg               the curves, drawn when the run ends or stops

Ctrl-C finishes the step, saves and exits with 130; -resume goes on. A second Ctrl-C exits at once, as a crash would: what was
saved last is kept. A GPU that is lost is opened again and the run goes on from its last checkpoint.
`

const examples = `
examples:
  train import qubiq downloads/brain-growth data/qubiq-brain-growth && train check data/qubiq-brain-growth
  train -data data/qubiq-brain-growth -dry-run                                      what GPU memory and time that would take
  train -data data/qubiq-brain-growth -out runs/brain -name newborn-brain -epochs 150
  train -data data/drishti-gs1-crop,data/drishti-gs1-full -out runs/fundus -name fundus -anchor disc -phases 64:25,128:25
  train -with runs/brain/run.yaml -resume                                           go on, also as the same flags and -resume
  train -with runs/brain/run.yaml -out runs/brain-2 -seed 2                         the same with another seed
  train -data my-hospital -out runs/mine -validate 0.2 -patience 20                 stop when 20 epochs brought nothing
  for i in 1 2 3 4 5; do train -with runs/mine/run.yaml -validate 0 -fold $i/5 -out runs/mine-fold$i; done        cross-validation
  train -data my-hospital -init runs/fundus/fundus.f32.safetensors -out runs/mine -rate 2e-4         from a model's weights
  train -data my-hospital -init resnet34.safetensors -names resnet -config paper -out runs/mine     from ImageNet's ResNet-34, see -names

exit codes: 0 trained to the end, or stopped by -hours or -stop-file (saved), 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (saved)
`

// commit is set by the Makefile: -ldflags "-X main.commit=…".
var commit = "unknown"

func main() { command.Main(run) }

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "synthetic":
			return runSynthetic(ctx, args[1:], stdout, stderr)
		case "import":
			return runImport(ctx, args[1:], stdout, stderr)
		case "check":
			return runCheck(ctx, args[1:], stdout, stderr)
		}
	}
	r := runner{stderr: stderr, bar: newProgress(stderr)}
	if code, done := r.parse(args, stdout); done {
		return code
	}
	tell := context.AfterFunc(ctx, func() {
		fmt.Fprintln(stderr, "\nfinishing the step and saving; Ctrl-C again exits at once")
	})
	defer tell()
	if r.options.DryRun {
		if err := r.try(ctx, stdout); err != nil {
			return command.Fail(ctx, stderr, program, err)
		}
		return command.Done
	}
	err := r.train(ctx)
	switch {
	case err == nil:
		fmt.Fprintf(stderr, "done: %s\n", filepath.Join(r.options.Out, r.options.Name+".safetensors"))
		return command.Done
	case errors.Is(err, errEnough):
		fmt.Fprintf(stderr, "%v: saved in %s; go on with -resume\n", err, r.options.Out)
		return command.Done
	case errors.Is(err, context.Canceled) && r.started:
		fmt.Fprintf(stderr, "saved in %s; go on with -resume\n", r.options.Out)
		return command.Interrupted
	}
	return command.Fail(ctx, stderr, program, err)
}

// runner is the program's wishes.
type runner struct {
	options       training.Options
	configuration []byte  // for run.yaml
	hours         float64 // 0: no limit
	stopFile      string
	open          func(context.Context) (gpu.Device, error)
	stderr        io.Writer
	bar           *progress
	started       bool // training has begun, so that an interrupted run has saved
}

// note tells the user something between the lines of the progress.
func (r *runner) note(text string) {
	r.bar.end()
	fmt.Fprintln(r.stderr, text)
}

// train trains to the end. Where the device is lost it is opened again and the run goes on from its last checkpoint, as long as it
// comes farther each time.
func (r *runner) train(ctx context.Context) error {
	farthest, began := -1, time.Now()
	if err := r.enough(began); err != nil {
		return fmt.Errorf("%s is there already: delete it to train", r.stopFile)
	}
	for {
		done, err := r.attempt(ctx, began)
		if !errors.Is(err, gpu.ErrLost) || done <= farthest || ctx.Err() != nil {
			return err
		}
		farthest = done
		r.note(fmt.Sprintf("%v\nopening the device again", err))
		if _, missing := os.Stat(filepath.Join(r.options.Out, training.Checkpoint)); missing == nil {
			r.options.Resume, r.options.Init = true, ""
		}
	}
}

// attempt trains on one device until it is lost and says how many steps were done then.
func (r *runner) attempt(ctx context.Context, began time.Time) (done int, err error) {
	d, err := r.open(ctx)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	r.note(fmt.Sprintf("computing on %s", d.Info()))
	t, err := training.New(ctx, d, r.options, r.bar.reading)
	r.bar.end()
	if err != nil {
		return 0, err
	}
	defer t.Close()
	r.describe(t)
	if err := r.keepConfiguration(); err != nil {
		return 0, err
	}
	record, err := openRecorder(r.options.Out, t.Done())
	if err != nil {
		return 0, err
	}
	defer record.close()
	r.started = true
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
	return t.Done(), err
}

// describe tells what is trained on.
func (r *runner) describe(t *training.Trainer) {
	aside := ""
	if t.Aside() > 0 {
		aside = fmt.Sprintf(", %d set aside to score by", t.Aside())
	}
	r.note(fmt.Sprintf("%s: %d images to train on%s, %d held out; %d raters, %d classes; %d steps, %d done", t.Dataset.Name,
		t.Images(), aside, len(t.Dataset.HeldOut()), t.Config.Raters, t.Config.Classes, t.Steps(), t.Done()))
	if missing := t.Dataset.Missing; len(missing) > 0 {
		r.note(fmt.Sprintf("%d masks are missing, such as %s; they count as labels that nobody gave", len(missing), missing[0]))
	}
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

// finish draws the curves and tells how the run went.
func (r *runner) finish(record *recorder) {
	o := r.options
	if err := drawCurves(o.Out, o.Name); err != nil {
		r.note(fmt.Sprintf("the curves could not be drawn: %v", err))
	}
	record.summary(r.stderr, o.Name+training.BestSuffix+".safetensors", o.Name+".safetensors", o.Name+".f32.safetensors", training.Checkpoint, configurationName, curvesName, logName, boardFolder)
}
