//go:build !js

// Command bench measures the network and a training step on this machine: times, dispatches and GPU
// memory.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/chromium"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

func main() { cli.Main(run) }

// request holds the flags.
type request struct {
	options
	sideGiven      bool
	browser        bool
	device         string // name; empty without -device
	wish           *computing.Device
	modules        string // folder with ONNX Runtime
	made           made
	base, jsonFile string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := request{options: options{Commit: version.Commit()}}
	var list bool
	var precision *model.Precision
	flags := cli.NewGroups()
	flags.Add("network", func(f *flag.FlagSet) {
		f.StringVar(&r.Weights, "weights", "", "`NAME` of a shipped model, or a .safetensors file; it decides configuration, raters, classes and side")
		f.StringVar(&r.Config, "config", "compact", "network with random weights: compact, mobile, paper or tiny; NAME-steered adds the raters' weights to the maps, NAME-evidence the passes around marks")
		f.IntVar(&r.Raters, "raters", 4, "raters of random weights")
		f.IntVar(&r.Classes, "classes", 2, "structures of random weights")
		f.IntVar(&r.Side, "side", 256, "image side in `pixels`, a multiple of 64 (with -weights: of the weights)")
	})
	flags.Add("measurements", func(f *flag.FlagSet) {
		f.IntVar(&r.Repeats, "n", 5, "number of runs")
		f.BoolVar(&r.Kernels, "kernels", false, "time every kernel of the network, and with -train of the step")
		f.StringVar(&r.modules, "peers", "", "compare with ONNX Runtime, which npm has installed in `FOLDER`, or with -train with the machine's PyTorch")
		f.StringVar(&r.base, "compare", "", "print ratios to an earlier report, the JSON in `FILE`")
		f.StringVar(&r.jsonFile, "json", "", "write the report to `FILE` as JSON; - prints it instead of the table")
		f.StringVar(&r.made.folder, "packed", "", "take what -browser and -peers make with Go from `FOLDER`")
		f.BoolVar(&r.made.pack, "pack", false, "write it to the folder of -packed, and end")
		f.BoolVar(&list, "devices", false, "list what can compute here, and end")
	})
	flags.Add("training step", func(f *flag.FlagSet) {
		f.BoolVar(&r.Train, "train", false, "also measure training steps, in f16 with -precision f16")
		f.IntVar(&r.Batch, "batch", 4, "images in a step")
		f.StringVar(&r.Recipe, "recipe", "steered", "training recipe: steered, unsteered, default, evidence, recurrent, paper, baseline, one-pass or bce")
		f.BoolVar(&r.Recompute, "recompute", false, "keep less for the gradient and compute it again")
	})
	flags.Add("computing", func(f *flag.FlagSet) {
		f.BoolVar(&r.browser, "browser", false, "measure in headless Chromium ("+chromium.Variable+" names another program)")
		precision, r.wish = computing.Flags(f)
	})
	p := cli.Program{Name: "bench", Intro: intro, Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		given := flags.Given()
		r.device, r.Precision, r.sideGiven = flags.Lookup("device").Value.String(), *precision, given["side"]
		if len(rest) > 0 {
			return cli.Wrong("unexpected argument %q", rest[0])
		}
		if err := r.check(given); err != nil {
			return cli.Wrong("%w", err)
		}
		if list {
			devices(ctx, stdout)
			return nil
		}
		return r.run(ctx, stdout, stderr)
	})
}

// check returns an error if the flags contradict each other.
func (r *request) check(given map[string]bool) error {
	switch {
	case r.Weights != "" && (given["config"] || given["raters"] || given["classes"]):
		return fmt.Errorf("-weights decides the configuration: leave out -config, -raters and -classes")
	case r.browser && given["device"] && r.device != device.Processor && r.device != device.Reference:
		return fmt.Errorf("-browser computes with the browser's WebGPU, or with -device %s or %s", device.Processor, device.Reference)
	case r.modules != "" && r.Train && (r.browser || r.Weights != "" || r.Precision != model.F32):
		return fmt.Errorf("-peers -train uses random weights in f32 and no browser: leave out -browser, -weights and -precision")
	case r.modules != "" && r.Train && r.Recipe != "steered" && r.Recipe != "unsteered":
		return fmt.Errorf("-peers -train: choose -recipe steered or unsteered, which PyTorch's step has")
	case r.Train && r.Precision == model.Int8:
		return fmt.Errorf("no training step computes in int8: leave out -train, or choose -precision f32 or f16")
	case !r.Train && (given["batch"] || given["recipe"] || given["recompute"]):
		return fmt.Errorf("-batch, -recipe and -recompute are of a training step: add -train")
	case r.modules != "" && (r.Kernels || r.base != ""):
		return fmt.Errorf("-peers has a table of its own: leave out -kernels and -compare")
	case r.made.pack && (r.made.folder == "" || r.Weights != ""):
		return fmt.Errorf("-pack needs -packed FOLDER, and packs random weights: leave out -weights")
	case r.base != "" && r.jsonFile == "-":
		return fmt.Errorf("-json - prints the report alone: with -compare, name a file")
	case r.Repeats < 1 || r.Batch < 1:
		return fmt.Errorf("-n and -batch are at least 1")
	}
	if r.Weights == "" {
		if _, err := model.NewConfig(r.Config, r.Raters, r.Classes); err != nil {
			return err
		}
	}
	if r.Side%model.SideMultiple != 0 || r.Side < model.SideMultiple {
		return fmt.Errorf("-side %d: choose a multiple of %d", r.Side, model.SideMultiple)
	}
	if r.Train {
		if _, err := model.NewRecipe(r.Recipe); err != nil {
			return err
		}
	}
	if r.jsonFile != "-" {
		if err := command.CheckOutputs(r.jsonFile); err != nil {
			return err
		}
	}
	return r.wish.Check()
}

// run measures and prints the report.
func (r *request) run(ctx context.Context, stdout, stderr io.Writer) error {
	if r.made.pack {
		return r.pack(ctx, stderr)
	}
	var base *report
	var err error
	if r.base != "" {
		if base, err = readReport(r.base); err != nil { // read before the long measurement
			return err
		}
	}
	var m *weights.Model
	if r.Weights != "" {
		if m, err = computing.Weights(r.Weights); err != nil {
			return err
		}
		about := m.Metadata
		r.Config, r.Raters, r.Classes = about.Configuration, len(about.Raters), len(about.Classes)
		if !r.sideGiven {
			r.Side = about.Side
		}
	}
	if r.Train && (r.modules == "" || r.sideGiven) {
		if err := r.checkStep(); err != nil {
			return err
		}
	}
	var d gpu.Device // nil with -browser
	runtimes := slices.DeleteFunc(slices.Clone(inPage), func(theirs runtimeOf) bool { return r.device != "" && r.device != theirs.device })
	if !r.browser {
		if d, err = r.wish.Open(ctx, func(note string) { fmt.Fprintln(stderr, note) }); err != nil {
			return err
		}
		defer d.Close()
		runtimes = natively(d)
	}
	progress := command.NewProgress(stderr, r.stages(len(runtimes)))
	defer progress.Clear()
	tell := func(stage string) { progress.Begin(); progress.Show("%s", stage) }
	if r.modules != "" {
		found, err := r.peers(ctx, d, m, runtimes, tell)
		progress.Clear()
		if found != nil && len(found.Matches) > 0 {
			err = errors.Join(err, write(found, r.jsonFile, stdout))
		}
		return err
	}
	var found *report
	if r.browser {
		found, err = r.browse(ctx, cmp.Or(r.device, browserDevice), m, tell)
	} else {
		found, err = bench(ctx, d, r.options, m, tell)
	}
	if err != nil {
		return err
	}
	progress.Clear()
	if err := write(found, r.jsonFile, stdout); err != nil || base == nil {
		return err
	}
	return compare(stdout, base, found)
}

// stages is the number of stages that progress shows. Of -peers it depends on runtimes.
func (r *request) stages(runtimes int) int {
	switch {
	case r.modules != "" && r.Train:
		return len(r.sides()) * (2 + r.Repeats)
	case r.modules != "":
		return 1 + runtimes*(1+2*(1+r.Repeats))
	}
	n := 3 + r.Repeats
	if r.Train {
		n += 2 + r.Repeats
	}
	if r.Kernels {
		n += 3
	}
	if r.Kernels && r.Train {
		n++
	}
	return n
}

// write prints the table and writes the JSON file; or it prints the JSON instead.
func write(found interface{ table(io.Writer) error }, jsonFile string, stdout io.Writer) error {
	if jsonFile == "-" {
		return command.WriteJSON(stdout, found)
	}
	if err := found.table(stdout); err != nil || jsonFile == "" {
		return err
	}
	return weights.WriteAtomic(jsonFile, func(w io.Writer) error { return command.WriteJSON(w, found) })
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
