//go:build !js

// Command bench measures the network and a training step on this machine: times, dispatches and GPU memory, with what computed them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"mrprism/internal/chromium"
	"mrprism/internal/command"
	"mrprism/internal/gpu/device"
	"mrprism/weights"
)

const intro = `bench - how fast the network is here, and how much GPU memory it takes

usage: bench [-weights NAME|FILE | -config compact|paper|tiny] [-side 256] [-train -batch 4] [-kernels] [-device NAME | -browser]
             [-json FILE] [-compare BASE.json]

The network runs as "segment" runs it: the encoder once an image, then Rec0 … Rec3, each mask read back. "Four passes" is all of that.
Nothing is measured before one run has been thrown away; medians are of -n runs, with the fastest and the slowest beside them. "Compile"
is the time from nothing to a network that can run: graphs, memory, pipelines. Without -weights, the weights are random: times do not
depend on them.

First come the ceilings of the device, each measured with a kernel that does nothing else: multiply-adds on registers, a copy of 64 MiB, and
dispatches of one invocation. With -kernels every kernel of the network is timed alone, in many copies one after the other: the time of all its
dispatches in one run, the operations that shaders.Work counts (multiply-adds as two), the bytes of all its tensors, each once, and the
larger of its shares of the two ceilings. Small tensors come from a cache then, so a share of bandwidth may exceed 100 %.

With -compare the figures of an earlier -json are set beside those of this run, as ratios now/base: of medians, and from the least to the
most that the spreads of both allow.

With -train, whole training steps (Algorithm 1: forward, backward, Adam; the recipe's recurrences) are measured as well.

With -browser everything is measured in a worker of a headless Chromium, on its software adapter, by this program compiled to
WebAssembly; that needs Go and a folder inside MrPrism's sources.
`

const examples = `
examples:
  bench                                     the compact network on the best device
  bench -device wgpu -side 512 -n 9
  bench -train -batch 4 -side 128           and a training step
  bench -weights fundus -browser            a model that ships, in Chromium
  bench -kernels -config paper              where the time goes, and what the device could do
  bench -json base.json                     for scripts; "-" is standard output, without the table
  bench -compare base.json                  what has changed since then
  bench -devices                            what could compute here, and why the rest could not

exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted
`

// commit is set by the Makefile: -ldflags "-X main.commit=…".
var commit = "unknown"

func main() { command.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{Commit: commit}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.Weights, "weights", "", "`NAME` of a model that ships, or a .safetensors file; it decides configuration, raters, classes and side")
	f.StringVar(&o.Config, "config", "compact", "network with random weights: compact, paper or tiny")
	f.IntVar(&o.Raters, "raters", 4, "raters of that network")
	f.IntVar(&o.Classes, "classes", 2, "structures of that network")
	f.IntVar(&o.Side, "side", 256, "image side in `pixels`, a multiple of 64 (with -weights: theirs)")
	f.IntVar(&o.Repeats, "n", 5, "runs of which the median is taken")
	f.BoolVar(&o.Train, "train", false, "measure training steps too")
	f.BoolVar(&o.Kernels, "kernels", false, "time every kernel of the network at its shapes, and with -train of the step")
	f.IntVar(&o.Batch, "batch", 4, "images a training step")
	f.StringVar(&o.Recipe, "recipe", "default", "training recipe: default, paper or baseline")
	inBrowser := f.Bool("browser", false, "measure in headless Chromium ("+chromium.Variable+" names another)")
	list := f.Bool("devices", false, "list what could compute here, and end")
	base := f.String("compare", "", "print ratios to the report in `FILE`, a JSON of an earlier run")
	jsonFile := f.String("json", "", "`FILE` that receives the report as JSON")
	wish := command.DeviceFlags(f)
	rest, code, done := command.Parse(f, intro, examples, args, stdout, stderr)
	if done {
		return code
	}
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case len(rest) > 0:
		return command.Misused(stderr, "bench", "unexpected argument %q", rest[0])
	case o.Weights != "" && (set["config"] || set["raters"] || set["classes"]):
		return command.Misused(stderr, "bench", "-weights decides the configuration: leave out -config, -raters and -classes")
	case *inBrowser && (set["device"] || set["dawn-lib"]):
		return command.Misused(stderr, "bench", "-browser computes with the browser's WebGPU: leave out -device and -dawn-lib")
	case o.Repeats < 1 || o.Batch < 1:
		return command.Misused(stderr, "bench", "-n and -batch are at least 1")
	}
	if err := wish.Check(); err != nil {
		return command.Misused(stderr, "bench", "%v", err)
	}
	if *list {
		devices(ctx, stdout)
		return command.Done
	}
	var before *report
	if *base != "" {
		var err error
		if before, err = readReport(*base); err != nil { // before minutes are spent
			return command.Fail(ctx, stderr, "bench", err)
		}
	}
	r, err := measure(ctx, o, set["side"], *inBrowser, wish, stderr)
	if err == nil {
		err = write(r, before, *jsonFile, stdout)
	}
	if err != nil {
		return command.Fail(ctx, stderr, "bench", err)
	}
	return command.Done
}

// measure opens weights and device, here or in the browser.
func measure(ctx context.Context, o options, sideGiven, inBrowser bool, wish command.Device, stderr io.Writer) (*report, error) {
	var m *weights.Model
	if o.Weights != "" {
		var err error
		if m, err = command.Weights(o.Weights); err != nil {
			return nil, err
		}
		about := m.Metadata
		o.Config, o.Raters, o.Classes = about.Configuration, len(about.Raters), len(about.Classes)
		if !sideGiven {
			o.Side = about.Side
		}
	}
	stages := 2 + o.Repeats
	if o.Train {
		stages *= 2
	}
	progress := command.NewProgress(stderr, stages)
	defer progress.Clear()
	tell := func(stage string) { progress.Begin(); progress.Show("%s", stage) }
	if inBrowser {
		return browse(ctx, o, m, tell)
	}
	d, err := wish.Open(ctx, func(note string) { fmt.Fprintln(stderr, note) })
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return bench(ctx, d, o, m, tell)
}

// write gives the table to people, beside that of before where there is one, and the JSON to whoever asked for it.
func write(r, before *report, jsonFile string, stdout io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if jsonFile == "-" {
		_, err = stdout.Write(text)
		return err
	}
	if err := r.table(stdout); err != nil {
		return err
	}
	if before != nil {
		if err := compare(stdout, before, r); err != nil {
			return err
		}
	}
	if jsonFile == "" {
		return nil
	}
	return os.WriteFile(jsonFile, text, 0o644)
}

// devices tells of every device whether it can be opened here.
func devices(ctx context.Context, stdout io.Writer) {
	for _, name := range device.Names() {
		if name == device.Auto {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		d, err := device.Open(limited, name, device.Options{})
		cancel()
		if err != nil {
			fmt.Fprintf(stdout, "%-10s missing: %v\n", name, err)
			continue
		}
		fmt.Fprintf(stdout, "%-10s %s\n", name, d.Info())
		_ = d.Close() // it was only looked at
	}
	if path, err := chromium.Find(); err != nil {
		fmt.Fprintf(stdout, "%-10s missing: %v\n", "browser", err)
	} else {
		fmt.Fprintf(stdout, "%-10s %s\n", "browser", path)
	}
}
