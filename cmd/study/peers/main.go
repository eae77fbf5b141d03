//go:build !js

// Command peers times our network beside ONNX Runtime, and our training step beside PyTorch's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"mrprism/cmd/bench/measure"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/model"
	"mrprism/shaders/gpu"
)

func main() { cli.Main(run) }

const intro = `peers - how fast our network is beside other programs, in turn with them

usage: peers FOLDER [flags]          beside ONNX Runtime, which "make peers" has put into build/peers
       peers torch [flags]           our training step beside PyTorch's
       peers pack FOLDER [flags]     for a machine without Go: writes what peers makes with Go into FOLDER, which has to be
                                     called "packed" and lie beside the program

Each peer has the same network, weights and image:
  on a GPU             ONNX Runtime in node, with WebGPU on the same adapter
  -device processor    in node, on the CPU with one thread and with all
  -browser             in the same Chromium: its WebGPU beside ours, its WebAssembly beside our processor, with one thread
                       and with two. On WebGPU it also replays a recording (its graph capture)
peers first compares the results. Times are from the image to all results in memory. Ratios are of the medians; "from" and
"to" are the smallest and the largest ratio of neighbouring runs. It needs node, Go, and the sources that it was built from.

"peers torch -device processor" runs a step of PyTorch (pytorch.py, Debian's python3-torch) in turn with ours, both on the CPU with
as many threads, from the same weights, images, labels and draws. Without -side it takes 128² and 256². It first compares loss
and gradients. Only our step averages the weights. PyTorch's speed depends on its BLAS, which the table names: install
libopenblas0-openmp.
`

const examples = `
examples:
  bench-peers build/peers -device processor -config paper -n 9
  bench-peers build/peers -browser -n 3
  bench-peers torch -device processor

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`

// request holds the flags.
type request struct {
	measure.Options
	sideGiven bool
	browser   bool
	device    string // name; empty without -device
	wish      *computing.Device
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := request{Options: measure.Options{Raters: 4, Classes: 2, Recipe: "steered", Commit: version.Commit()}}
	var precision *model.Precision
	var figures *command.Figures
	flags := cli.NewGroups()
	flags.Add("flags", func(f *flag.FlagSet) {
		f.StringVar(&r.Weights, "weights", "", "`NAME` of a shipped model, or a .safetensors file, beside ONNX Runtime")
		f.StringVar(&r.Config, "config", "compact", "network with random weights: compact, mobile, paper or tiny")
		f.IntVar(&r.Side, "side", 256, "image side in `pixels`, a multiple of 64 (with -weights: of the weights)")
		f.IntVar(&r.Batch, "batch", 4, "images in a step")
		f.IntVar(&r.Repeats, "n", 5, "number of runs")
		figures = command.FiguresFlag(f, "the figures")
		f.BoolVar(&r.browser, "browser", false, "run in headless Chromium")
		precision, r.wish = computing.Flags(f)
	})
	p := cli.Program{Name: "peers", Intro: intro, Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) error {
		r.device, r.Precision, r.sideGiven = string(*r.wish), *precision, flags.Given()["side"]
		r.Train = len(rest) == 1 && rest[0] == "torch"
		pack := len(rest) == 2 && rest[0] == "pack"
		switch {
		case len(rest) != 1 && !pack:
			return cli.Wrong("give the folder of ONNX Runtime, torch, or pack FOLDER")
		case r.Weights != "" && flags.Given()["config"]:
			return cli.Wrong("-weights decides the configuration: leave out -config")
		case pack && r.Weights != "":
			return cli.Wrong("pack is of random weights: leave out -weights")
		case r.Train && (r.browser || r.Weights != "" || r.Precision != model.F32):
			return cli.Wrong("torch uses random weights in f32 and no browser: leave out -browser, -weights and -precision")
		}
		if err := errors.Join(r.Check(), r.wish.Check(), command.CheckOutputs(figures.File())); err != nil {
			return cli.Wrong("%w", err)
		}
		tell := func(stage string) { fmt.Fprintln(stderr, stage) }
		if pack {
			return r.pack(ctx, rest[1], tell)
		}
		found := &report{Options: r.Options}
		var err error
		found.Matches, err = r.matches(ctx, rest[0], tell)
		if len(found.Matches) > 0 {
			err = errors.Join(err, figures.Write(stdout, found, found.table))
		}
		return err
	})
}

// matches are those beside PyTorch, or beside the ONNX Runtime of a folder.
func (r *request) matches(ctx context.Context, folder string, tell func(string)) ([]match, error) {
	m, err := r.Open(computing.Weights, r.sideGiven)
	if err != nil {
		return nil, err
	}
	var d gpu.Device // nil in the browser
	if !r.browser {
		if d, err = r.wish.Open(ctx, tell); err != nil {
			return nil, err
		}
		defer d.Close()
	}
	if r.Train {
		return r.besideTorch(ctx, d, tell)
	}
	return r.besideONNX(ctx, d, m, folder, tell)
}
