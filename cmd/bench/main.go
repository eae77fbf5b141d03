//go:build !js

// Command bench measures the network and a training step on this machine: times, dispatches and GPU
// memory.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"mrprism/cmd/bench/measure"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/model"
	"mrprism/shaders/gpu/chromium"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

func main() { cli.Main(run) }

// request holds the flags.
type request struct {
	measure.Options
	sideGiven bool
	browser   bool
	wish      *computing.Device
	figures   *command.Figures
	base      string // an earlier report
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := request{Options: measure.Options{Raters: 4, Classes: 2, Commit: version.Commit()}}
	var precision *model.Precision
	flags := cli.NewGroups()
	flags.Add("network", func(f *flag.FlagSet) {
		f.StringVar(&r.Weights, "weights", "", "`NAME` of a shipped model, or a .safetensors file; it decides configuration, raters, classes and side")
		f.StringVar(&r.Config, "config", "compact", "network with random weights, of four raters and two structures: compact, mobile, paper or tiny; NAME-steered adds the raters' weights to the maps, NAME-evidence the passes around marks")
		f.IntVar(&r.Side, "side", 256, "image side in `pixels`, a multiple of 64 (with -weights: of the weights)")
	})
	flags.Add("measurements", func(f *flag.FlagSet) {
		f.IntVar(&r.Repeats, "n", 5, "number of runs")
		f.BoolVar(&r.Kernels, "kernels", false, "time every kernel of the network, and with -train of the step")
		r.figures = command.FiguresFlag(f, "the report")
	})
	flags.Add("training step", func(f *flag.FlagSet) {
		f.BoolVar(&r.Train, "train", false, "also measure training steps, in f16 with -precision f16")
		f.IntVar(&r.Batch, "batch", 4, "images in a step")
		f.StringVar(&r.Recipe, "recipe", "steered", "training recipe, as \"train -h\" names them")
	})
	flags.Add("computing", func(f *flag.FlagSet) {
		f.BoolVar(&r.browser, "browser", false, "measure in headless Chromium ("+chromium.Variable+" names another program)")
		precision, r.wish = computing.Flags(f)
	})
	p := cli.Program{Name: "bench", Intro: intro, Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		given := flags.Given()
		r.Precision, r.sideGiven = *precision, given["side"]
		pack := len(rest) == 2 && rest[0] == "pack"
		switch {
		case len(rest) == 1 && rest[0] == "devices":
			devices(ctx, stdout)
			return nil
		case len(rest) == 1:
			r.base = rest[0]
		case len(rest) > 0 && !pack:
			return cli.Wrong("unexpected argument %q", rest[0])
		}
		if err := r.check(given); err != nil {
			return cli.Wrong("%w", err)
		}
		if pack {
			_, err := measure.PageFiles(ctx, r.Options, nil, measure.Packed{Folder: rest[1], Write: true}, "bench")
			return err
		}
		return r.run(ctx, stdout, stderr)
	})
}

// check returns an error if the flags contradict each other.
func (r *request) check(given map[string]bool) error {
	switch {
	case r.Weights != "" && given["config"]:
		return fmt.Errorf("-weights decides the configuration: leave out -config")
	case r.browser && given["device"] && *r.wish != device.Processor && *r.wish != device.Reference:
		return fmt.Errorf("-browser computes with the browser's WebGPU, or with -device %s or %s", device.Processor, device.Reference)
	case r.Train && r.Precision == model.Int8:
		return fmt.Errorf("no training step computes in int8: leave out -train, or choose -precision f32 or f16")
	case !r.Train && (given["batch"] || given["recipe"]):
		return fmt.Errorf("-batch and -recipe are of a training step: add -train")
	case r.base != "" && given["json"] && r.figures.File() == "":
		return fmt.Errorf("-json - prints the report alone: beside %s, name a file", r.base)
	}
	if err := r.Check(); err != nil {
		return err
	}
	if err := command.CheckOutputs(r.figures.File()); err != nil {
		return err
	}
	return r.wish.Check()
}

// run measures and prints the report.
func (r *request) run(ctx context.Context, stdout, stderr io.Writer) error {
	var base *measure.Report
	var err error
	if r.base != "" {
		if base, err = measure.ReadReport(r.base); err != nil { // read before the long measurement
			return err
		}
	}
	m, err := r.Open(computing.Weights, r.sideGiven)
	if err != nil {
		return err
	}
	if r.Train {
		if err := r.CheckStep(); err != nil {
			return err
		}
	}
	progress := command.NewProgress(stderr, r.Stages())
	defer progress.Clear()
	tell := func(stage string) { progress.Begin(); progress.Show("%s", stage) }
	var found *measure.Report
	if r.browser {
		found, err = measure.Browse(ctx, r.Options, cmp.Or(string(*r.wish), measure.Browser), m, measure.Beside(), tell)
	} else {
		found, err = r.natively(ctx, m, stderr, tell)
	}
	if err != nil {
		return err
	}
	progress.Clear()
	if err := r.figures.Write(stdout, found, found.Table); err != nil || base == nil {
		return err
	}
	return measure.Compare(stdout, base, found)
}

// natively measures on a device of this machine.
func (r *request) natively(ctx context.Context, m *weights.Model, stderr io.Writer, tell func(string)) (*measure.Report, error) {
	d, err := r.wish.Open(ctx, func(note string) { fmt.Fprintln(stderr, note) })
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return measure.Bench(ctx, d, r.Options, m, tell)
}

// devices prints for every device whether it can be opened here.
func devices(ctx context.Context, stdout io.Writer) {
	for _, name := range device.Names() {
		if name == device.Auto {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		d, err := device.Open(limited, name, device.Options{Note: func(text string) {
			fmt.Fprintf(stdout, "%-10s %s\n", name, text)
		}})
		cancel()
		if err != nil {
			fmt.Fprintf(stdout, "%-10s missing: %v\n", name, err)
			continue
		}
		fmt.Fprintf(stdout, "%-10s %s\n", name, d.Info())
		_ = d.Close() // it is not used
	}
	if path, err := chromium.Find(); err != nil {
		fmt.Fprintf(stdout, "%-10s missing: %v\n", "browser", err)
	} else {
		fmt.Fprintf(stdout, "%-10s %s\n", "browser", path)
	}
}
