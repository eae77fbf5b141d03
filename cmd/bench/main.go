//go:build !js

// Command bench measures the network and a training step on this machine: times, dispatches and GPU memory, with what computed them.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"mrprism/internal/chromium"
	"mrprism/internal/command"
	"mrprism/internal/gpu/device"
	"mrprism/model"
	"mrprism/weights"
)

const intro = `bench - how fast the network is here, and how much GPU memory it takes

usage: bench [-weights NAME|FILE | -config compact|paper|tiny] [-side 256] [-precision f32] [-train -batch 4] [-kernels]
             [-device NAME | -browser] [-json FILE] [-compare BASE.json]
       bench -peers FOLDER [-weights NAME|FILE | -config ...] [-device NAME | -browser] [-json FILE]
       bench -peers FOLDER -train -device processor [-config ...] [-side 256] [-batch 4] [-json FILE]

The network runs as "segment" runs it on one image: the encoder once, then Rec0 … Rec3, each mask read back, and
the raters' labels of the last (models that look at the mirror image too take that twice). "Four passes" is all of that.
Nothing is measured before one run has been thrown away; medians are of -n runs, with the fastest and the slowest beside them. "Compile"
is the time from nothing to a network that can run: graphs, memory, pipelines. Without -weights, the weights are random: times do not
depend on them.

First come the ceilings of the device, each measured with a kernel that does nothing else: multiply-adds on registers (on the processor: of all
threads, in its vectors, on blocks in the first cache, and the same of int8), a copy of 64 MiB, and dispatches of one invocation. With -kernels every kernel of the network is timed alone, in many copies one after the other: the time of all its
dispatches in one run, the operations that shaders.Work counts (multiply-adds as two), the bytes of all its tensors, each once, its share of the
multiply-adds ("of adds"), and the larger of that and of its share of the bandwidth (the most that was seen of each). Small tensors come from a cache then, so a share of bandwidth may exceed 100 %.

With -compare the figures of an earlier -json are set beside those of this run, as ratios now/base: of medians, and from the least to the
most that the spreads of both allow.

With -precision f16 or int8 the network runs in turn with itself in f32, and ratios to that are printed as well.

With -train, whole training steps (Algorithm 1: forward, backward, Adam; the recipe's recurrences) are measured as well.

With -browser everything is measured in a worker of a headless Chromium, on its software adapter or -device processor, by this program
compiled to WebAssembly; that needs Go and a folder inside MrPrism's sources.

With -peers ONNX Runtime computes the same network, as "export" writes it, from the same weights and image, in turn with ours: in node with its
WebGPU, on the adapter that the Vulkan loader gives both, or, where ours is the processor, on the CPU with one thread and with all; with -browser in the
same Chromium, its WebGPU beside ours and its WebAssembly of one thread and of two beside our processor with as many
(with -device processor that alone). Times are from the image to all results in memory. Results are compared before anything is timed. Ratios are of
medians, and from the least to the most of neighbouring runs. "make bench-peers" installs what it needs and runs all of it. That needs node, Go and a folder inside MrPrism's sources.
There is no row of ONNX Runtime in int8: its quantizer is Python (onnxruntime.quantization), which neither npm nor Debian 12 has, and "export -onnx" writes
no int8.

With -peers and -train PyTorch takes the same training steps on the CPU (cmd/bench/peers/pytorch.py; Debian's python3-torch), from the same weights,
images, labels and draws, with as many threads, in turn with our processor; at 128² and 256² where -side is not given. Loss and the norm of each
parameter's gradient are compared before anything is timed. Our step also averages the weights, PyTorch's does not. Its BLAS is named: with that of a bare
Debian, libblas3, its attention takes eight times as long as with libopenblas0-openmp.
`

const examples = `
examples:
  bench                                     the compact network on the best device
  bench -device wgpu -side 512 -n 9
  bench -train -batch 4 -side 128           and a training step (-recompute: with less memory)
  bench -weights fundus -browser            a model that ships, in Chromium
  bench -kernels -config paper              where the time goes, and what the device could do
  bench -peers build/peers -train -device processor   our step beside PyTorch's on the CPU
  bench -json base.json                     for scripts; "-" is standard output, without the table
  bench -compare base.json                  what has changed since then
  bench -devices                            what could compute here, and why the rest could not

exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted
`

// commit is set by the Makefile: -ldflags "-X main.commit=…".
var commit = "unknown"

func main() { command.Main(run) }

// request is what the user asked for.
type request struct {
	options
	sideGiven      bool
	browser        bool
	device         string // its name, "" where none was given
	wish           command.Device
	modules        string // folder with ONNX Runtime
	base, jsonFile string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := request{options: options{Commit: commit}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&r.Weights, "weights", "", "`NAME` of a model that ships, or a .safetensors file; it decides configuration, raters, classes and side")
	f.StringVar(&r.Config, "config", "compact", "network with random weights: compact, paper or tiny; NAME-steered is that to which raters' weights are added")
	f.IntVar(&r.Raters, "raters", 4, "raters of that network")
	f.IntVar(&r.Classes, "classes", 2, "structures of that network")
	f.IntVar(&r.Side, "side", 256, "image side in `pixels`, a multiple of 64 (with -weights: theirs)")
	f.IntVar(&r.Repeats, "n", 5, "runs of which the median is taken")
	f.BoolVar(&r.Train, "train", false, "measure training steps too, with -precision f16 in f16")
	f.BoolVar(&r.Kernels, "kernels", false, "time every kernel of the network at its shapes, and with -train of the step")
	f.IntVar(&r.Batch, "batch", 4, "images a training step")
	f.StringVar(&r.Recipe, "recipe", "default", "training recipe: default, unsteered, paper, baseline, one-pass or bce")
	f.BoolVar(&r.Recompute, "recompute", false, "training steps keep less and compute it again")
	f.BoolVar(&r.browser, "browser", false, "measure in headless Chromium ("+chromium.Variable+" names another)")
	f.StringVar(&r.modules, "peers", "", "run ONNX Runtime beside ours; npm has installed it in `FOLDER`; with -train PyTorch, which is the machine's own")
	f.StringVar(&r.base, "compare", "", "print ratios to the report in `FILE`, a JSON of an earlier run")
	f.StringVar(&r.jsonFile, "json", "", "`FILE` that receives the report as JSON")
	list := f.Bool("devices", false, "list what could compute here, and end")
	precision := command.PrecisionFlag(f)
	r.wish = command.DeviceFlags(f)
	rest, code, done := command.Parse(f, intro, examples, args, stdout, stderr)
	if done {
		return code
	}
	r.device, r.Precision = f.Lookup("device").Value.String(), *precision
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	r.sideGiven = set["side"]
	if err := r.check(rest, set); err != nil {
		return command.Misused(stderr, "bench", "%v", err)
	}
	if *list {
		devices(ctx, stdout, f.Lookup("dawn-lib").Value.String())
		return command.Done
	}
	if err := r.run(ctx, stdout, stderr); err != nil {
		return command.Fail(ctx, stderr, "bench", err)
	}
	return command.Done
}

// check says what is wrong with the usage; set has the flags that were given.
func (r *request) check(rest []string, set map[string]bool) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case r.Weights != "" && (set["config"] || set["raters"] || set["classes"]):
		return fmt.Errorf("-weights decides the configuration: leave out -config, -raters and -classes")
	case r.browser && set["dawn-lib"]:
		return fmt.Errorf("-browser computes in the browser: leave out -dawn-lib")
	case r.browser && set["device"] && r.device != device.Processor && r.device != device.Reference:
		return fmt.Errorf("-browser computes with the browser's WebGPU, or with -device %s or %s", device.Processor, device.Reference)
	case r.modules != "" && r.Train && (r.browser || r.Weights != "" || r.Precision != model.F32):
		return fmt.Errorf("-peers -train compares steps from random weights in f32, natively: leave out -browser, -weights and -precision")
	case r.modules != "" && r.Train && r.Recipe != "default" && r.Recipe != "unsteered":
		return fmt.Errorf("-peers -train: PyTorch's step is that of -recipe default or unsteered")
	case r.Train && r.Precision == model.Int8:
		return fmt.Errorf("no training step computes in int8: leave out -train, or choose -precision f32 or f16")
	case r.base != "" && r.jsonFile == "-":
		return fmt.Errorf("-json - prints nothing but the report: name a file beside -compare")
	case r.Repeats < 1 || r.Batch < 1:
		return fmt.Errorf("-n and -batch are at least 1")
	}
	if r.Weights == "" {
		if _, err := model.NewConfig(r.Config, r.Raters, r.Classes); err != nil {
			return err
		}
	}
	if r.Side%model.SideMultiple != 0 || r.Side < model.SideMultiple {
		return fmt.Errorf("-side %d: it has to be a multiple of %d", r.Side, model.SideMultiple)
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

// run measures and tells.
func (r *request) run(ctx context.Context, stdout, stderr io.Writer) error {
	var base *report
	var err error
	if r.base != "" {
		if base, err = readReport(r.base); err != nil { // before minutes are spent
			return err
		}
	}
	var m *weights.Model
	if r.Weights != "" {
		if m, err = command.Weights(r.Weights); err != nil {
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
	note := func(note string) { fmt.Fprintln(stderr, note) }
	progress := command.NewProgress(stderr, r.stages())
	defer progress.Clear()
	tell := func(stage string) { progress.Begin(); progress.Show("%s", stage) }
	if r.modules != "" {
		found, err := r.peers(ctx, m, tell, note)
		progress.Clear()
		if found != nil && len(found.Matches) > 0 {
			err = errors.Join(err, write(found, r.jsonFile, stdout))
		}
		return err
	}
	found, err := r.measure(ctx, m, tell, note)
	if err != nil {
		return err
	}
	progress.Clear()
	if err := write(found, r.jsonFile, stdout); err != nil || base == nil {
		return err
	}
	return compare(stdout, base, found)
}

// stages is how often progress is told.
func (r *request) stages() int {
	switch {
	case r.modules != "" && r.Train && r.sideGiven:
		return 2 + r.Repeats
	case r.modules != "" && r.Train:
		return len(stepSides) * (2 + r.Repeats)
	case r.modules != "" && r.browser:
		return 1 + 2*(1+2*(1+r.Repeats))
	case r.modules != "":
		return 2 + 2*(1+r.Repeats)
	}
	n := 3 + r.Repeats
	if r.Train {
		n += 2 + r.Repeats
	}
	if r.Kernels {
		n += 2
	}
	if r.Kernels && r.Train {
		n++
	}
	return n
}

// measure opens the device, here or in the browser.
func (r *request) measure(ctx context.Context, m *weights.Model, tell, note func(string)) (*report, error) {
	if r.browser {
		return browse(ctx, r.options, cmp.Or(r.device, browserDevice), m, tell)
	}
	d, err := r.wish.Open(ctx, note)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return bench(ctx, d, r.options, m, tell)
}

// write gives the table to people and the JSON to whoever asked for it.
func write(found interface{ table(io.Writer) error }, jsonFile string, stdout io.Writer) error {
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if jsonFile == "-" {
		_, err = stdout.Write(text)
		return err
	}
	if err := found.table(stdout); err != nil || jsonFile == "" {
		return err
	}
	return os.WriteFile(jsonFile, text, 0o644)
}

// devices tells of every device whether it can be opened here.
func devices(ctx context.Context, stdout io.Writer, dawnLibrary string) {
	for _, name := range device.Names() {
		if name == device.Auto {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		d, err := device.Open(limited, name, device.Options{DawnLibrary: dawnLibrary})
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
