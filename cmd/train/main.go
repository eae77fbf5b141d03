// Command train trains a MrPrism model on multi-rater folders.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mrprism/internal/gpu/device"
	"mrprism/internal/training"
	"mrprism/model"
)

const usage = `train learns a MrPrism model from images that several raters have annotated (Algorithm 1 of the paper).

  train -data DIR[,DIR] -config compact -out RUN [flags]

A data set is a folder: dataset.json (name, classes, raters, labels), images/NAME.png|jpg, raters/RATER/CLASS/NAME.png of 0 and
255. A missing mask is a missing label. Every fifth image in sorted order is held out and never trained on: score it with
"evaluate".

The run's folder receives
  checkpoint.safetensors   everything needed to go on, bit for bit; the one before it is kept beside it
  NAME.safetensors         the weights so far, int8, for "segment" and the site;  NAME.f32.safetensors  the same in float32
  log.jsonl                one line a step

Ctrl-C finishes the step, saves and exits with 130; -resume goes on. A second Ctrl-C exits at once.

Examples
  train -data data/qubiq-brain-growth -config compact -out runs/brain -name newborn-brain -epochs 150
  train -data data/drishti-gs1-crop,data/drishti-gs1-full -config compact -out runs/fundus -name fundus -anchor disc
  train -data data/qubiq-brain-growth -config compact -out runs/brain -name newborn-brain -epochs 150 -resume

Flags
`

// commit is set by the Makefile: -ldflags "-X main.commit=…".
var commit = "unknown"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	o, d, code := parse(args)
	if code >= 0 {
		return code
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second Ctrl-C ends the program at once
		fmt.Fprintln(os.Stderr, "\nfinishing the step and saving; Ctrl-C again exits at once")
		cancel()
	}()
	if err := train(ctx, o, d); err != nil {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(os.Stderr, "saved in %s; go on with -resume\n", o.Out)
			return 130
		}
		fmt.Fprintln(os.Stderr, "train:", err)
		return 1
	}
	return 0
}

type deviceFlags struct{ name, dawn string }

// parse reads the flags; a code of 0 or more ends the program.
func parse(args []string) (o training.Options, d deviceFlags, code int) {
	f := flag.NewFlagSet("train", flag.ContinueOnError)
	data := f.String("data", "", "data set `folder`s, separated by commas; of the same classes and raters")
	f.StringVar(&o.Config, "config", "compact", "network: compact (6 M parameters, what the site downloads) or paper (35 M)")
	f.StringVar(&o.Out, "out", "", "`folder` of the run")
	f.BoolVar(&o.Resume, "resume", false, "go on from the checkpoint in -out")
	f.StringVar(&o.Init, "init", "", "start from the weights in `file` instead of random ones")
	epochs := f.Int("epochs", 150, "passes over the images at -side")
	f.IntVar(&o.Batch, "batch", 4, "images a step")
	f.Uint64Var(&o.Seed, "seed", 1, "decides the start, the order and every random draw")
	side := f.Int("side", 128, "image side in pixels, a multiple of 64")
	phases := f.String("phases", "", "`SIDE:EPOCHS`,… instead of -side and -epochs: small images first, for speed (64:60,128:40,256:5)")
	recipe := f.String("recipe", "default", "default, paper (the letter of the paper) or baseline (no recurrence, 1 − SSIM of the mean vote)")
	rate := f.Float64("rate", 0, "peak learning rate (0: the recipe's)")
	decay := f.Float64("decay", 0, "decoupled weight decay of Adam")
	f.StringVar(&o.Anchor, "anchor", "", "`class` that is searched for in whole photographs; crops are then drawn at all scales around it")
	f.StringVar(&o.Name, "name", "model", "name of the exported model")
	f.StringVar(&o.Title, "title", "", "one line about the model, for people")
	f.StringVar(&o.Task, "task", "", "what the images show")
	f.Float64Var(&o.CheckpointSeconds, "save", 120, "seconds between checkpoints")
	f.StringVar(&d.name, "device", "", "auto (Dawn, else wgpu-native), dawn, wgpu or reference; default $"+device.Variable+", else auto")
	f.StringVar(&d.dawn, "dawn-lib", "", "Dawn library `file`; default $MRPRISM_DAWN_LIB, then .dawn/ and the system's")
	f.Usage = func() { fmt.Fprint(f.Output(), usage); f.PrintDefaults() }
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, d, 0
		}
		return o, d, 2
	}
	o.Phases = []training.Phase{{Side: *side, Epochs: *epochs}}
	if *data != "" {
		o.Data = strings.Split(*data, ",")
	}
	o.Commit = commit
	var err error
	if *phases != "" {
		o.Phases, err = training.ParsePhases(*phases)
	}
	if err == nil {
		o.Recipe, err = model.NewRecipe(*recipe)
	}
	if err == nil {
		if *rate > 0 {
			o.Recipe.Rate = *rate
		}
		o.Recipe.Decay = *decay
		err = o.Validate()
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "train: %v\nrun \"train -h\" for help\n", err)
		return o, d, 2
	}
	return o, d, -1
}

func train(ctx context.Context, o training.Options, flags deviceFlags) error {
	d, err := device.Open(ctx, flags.name, device.Options{
		DawnLibrary: flags.dawn, Note: func(s string) { fmt.Fprintln(os.Stderr, s) },
	})
	if err != nil {
		return err
	}
	defer d.Close()
	fmt.Fprintf(os.Stderr, "computing on %s\n", d.Info())
	t, err := training.New(ctx, d, o, nil)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(o.Out, "log.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(os.Stderr, "%s: %d images to train on, %d held out; %d raters, %d classes; %d steps, %d done\n", t.Dataset.Name,
		len(t.Dataset.Training()), len(t.Dataset.HeldOut()), t.Config.Raters, t.Config.Classes, t.Steps(), t.Done())
	bar := newProgress(os.Stderr)
	err = t.Run(ctx, func(r training.Report) {
		bar.show(r)
		logLine(log, r)
	})
	bar.end()
	if err == nil {
		fmt.Fprintf(os.Stderr, "done: %s\n", filepath.Join(o.Out, o.Name+".safetensors"))
	}
	return err
}

func logLine(w io.Writer, r training.Report) {
	line, err := json.Marshal(map[string]any{
		"step": r.Step, "epoch": r.Epoch, "side": r.Side, "rate": r.Rate, "loss": r.Loss, "terms": r.Terms,
		"seconds": r.Seconds, "data_seconds": r.DataSeconds, "time": time.Now().UTC().Format(time.RFC3339),
	})
	if err == nil {
		_, _ = w.Write(append(line, '\n'))
	}
}
