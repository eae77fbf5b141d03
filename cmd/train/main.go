// Command train trains a MrPrism model on multi-rater folders.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/training"
	"mrprism/model"
)

const program = "train"

const intro = `train - learns a MrPrism model from images that several raters have annotated (Algorithm 1 of the paper)

usage: train -data DIR[,DIR] -out RUN [flags]
       train check DIR[,DIR] [flags]             reads a data set and tells what is wrong with it; see "train check -h"
       train synthetic SCENARIO DIR [flags]      makes a data set whose truth is known; see "train synthetic -h"

A data set is a folder: dataset.json (name, classes, raters, labels), images/NAME.png|jpg, raters/RATER/CLASS/NAME.png of 0 and
255. A missing mask is a missing label. Every fifth image in sorted order is held out and never trained on: score it with
"evaluate".

The run's folder receives
  checkpoint.safetensors   everything needed to go on, bit for bit; the one before it is kept beside it
  NAME.safetensors         the weights so far, int8, for "segment" and the site;  NAME.f32.safetensors  the same in float32
  log.jsonl                one line a step

Ctrl-C finishes the step, saves and exits with 130; -resume goes on. A second Ctrl-C exits at once, as a crash would: what was
saved last is kept. A GPU that is lost is opened again and the run goes on from its last checkpoint.
`

const examples = `
examples:
  train -data data/qubiq-brain-growth -out runs/brain -name newborn-brain -epochs 150
  train -data data/drishti-gs1-crop,data/drishti-gs1-full -out runs/fundus -name fundus -anchor disc -phases 64:25,128:25
  train -data data/qubiq-brain-growth -out runs/brain -name newborn-brain -epochs 150 -resume        the same flags, and -resume
  train -data my-hospital -init runs/fundus/fundus.f32.safetensors -out runs/mine -rate 2e-4         from a model's weights

exit codes: 0 trained to the end, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (saved)
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
	err := r.train(ctx)
	switch {
	case err == nil:
		fmt.Fprintf(stderr, "done: %s\n", filepath.Join(r.options.Out, r.options.Name+".safetensors"))
		return command.Done
	case errors.Is(err, context.Canceled) && r.started:
		fmt.Fprintf(stderr, "saved in %s; go on with -resume\n", r.options.Out)
		return command.Interrupted
	}
	return command.Fail(ctx, stderr, program, err)
}

// runner is the program's wishes.
type runner struct {
	options training.Options
	open    func(context.Context) (gpu.Device, error)
	stderr  io.Writer
	bar     *progress
	started bool // training has begun, so that an interrupted run has saved
}

// parse reads the flags; where the program is to end, done is true.
func (r *runner) parse(args []string, stdout io.Writer) (code int, done bool) {
	f := flag.NewFlagSet(program, flag.ContinueOnError)
	o := &r.options
	data := f.String("data", "", "data set `FOLDER`s, separated by commas; of the same classes and raters (required)")
	f.StringVar(&o.Config, "config", "compact", "network: compact (6 M parameters, what the site downloads) or paper (35 M)")
	f.StringVar(&o.Out, "out", "", "`FOLDER` of the run (required)")
	f.BoolVar(&o.Resume, "resume", false, "go on from the checkpoint in -out; all other flags as they were")
	f.StringVar(&o.Init, "init", "", "start from the weights in `FILE` instead of random ones")
	epochs := f.Int("epochs", 150, "passes over the images at -side")
	f.IntVar(&o.Batch, "batch", 4, "images a step")
	f.Uint64Var(&o.Seed, "seed", 1, "decides the start, the order and every random draw")
	side := f.Int("side", 128, "image side in pixels, a multiple of 64")
	phases := f.String("phases", "", "`SIDE:EPOCHS`,… instead of -side and -epochs: small images first, for speed (64:60,128:40,256:5)")
	recipe := f.String("recipe", "default", "default, paper (the letter of the paper) or baseline (no recurrence, 1 − SSIM of the mean vote)")
	rate := f.Float64("rate", 0, "peak learning rate (0: the recipe's)")
	decay := f.Float64("decay", 0, "decoupled weight decay of Adam")
	f.StringVar(&o.Anchor, "anchor", "", "`CLASS` that is searched for in whole photographs; crops are then drawn at all scales around it")
	f.StringVar(&o.Name, "name", "model", "name of the exported model")
	f.StringVar(&o.Title, "title", "", "one line about the model, for people")
	f.StringVar(&o.Task, "task", "", "what the images show")
	f.BoolVar(&o.Recompute, "recompute", false, "keep less for the gradient and compute it again: 0.6 of the memory at side 256, 0.7 at 128, for 1.3 of the time; no bit of the result changes")
	f.BoolVar(&o.SkipBad, "skip-bad", false, "leave out images whose files cannot be read, naming them, instead of ending (\"train check\" finds them first)")
	f.Float64Var(&o.CheckpointSeconds, "save", 120, "seconds between checkpoints")
	wish := command.DeviceFlags(f)
	rest, code, done := command.Parse(f, intro, examples, args, stdout, r.stderr)
	if done {
		return code, true
	}
	o.Phases = []training.Phase{{Side: *side, Epochs: *epochs}}
	if *data != "" {
		o.Data = strings.Split(*data, ",")
	}
	o.Commit, o.Note = commit, r.note
	var err error
	if *phases != "" {
		o.Phases, err = training.ParsePhases(*phases)
	}
	if err == nil {
		o.Recipe, err = model.NewRecipe(*recipe)
	}
	if err == nil {
		if *rate != 0 {
			o.Recipe.Rate = *rate
		}
		o.Recipe.Decay = *decay
		err = o.Validate()
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected argument %q", rest[0])
	}
	if err == nil {
		err = wish.Check()
	}
	if err != nil {
		return command.Misused(r.stderr, program, "%v", err), true
	}
	r.open = func(ctx context.Context) (gpu.Device, error) { return wish.OpenNamed(ctx, r.note) }
	return 0, false
}

// note tells the user something between the lines of the progress.
func (r *runner) note(text string) {
	r.bar.end()
	fmt.Fprintln(r.stderr, text)
}

// train trains to the end. Where the device is lost it is opened again and the run goes on from its last checkpoint, as long as it
// comes farther each time.
func (r *runner) train(ctx context.Context) error {
	farthest := -1
	for {
		done, err := r.attempt(ctx)
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
func (r *runner) attempt(ctx context.Context) (done int, err error) {
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
	log, err := openLog(filepath.Join(r.options.Out, "log.jsonl"), t.Done())
	if err != nil {
		return 0, err
	}
	defer log.Close()
	r.note(fmt.Sprintf("%s: %d images to train on, %d held out; %d raters, %d classes; %d steps, %d done", t.Dataset.Name,
		t.Images(), len(t.Dataset.HeldOut()), t.Config.Raters, t.Config.Classes, t.Steps(), t.Done()))
	if missing := t.Dataset.Missing; len(missing) > 0 {
		r.note(fmt.Sprintf("%d masks are missing, such as %s; they count as labels that nobody gave", len(missing), missing[0]))
	}
	r.started = true
	err = t.Run(ctx, func(report training.Report) {
		r.bar.show(report)
		logStep(log, report)
	})
	r.bar.end()
	return t.Done(), err
}
