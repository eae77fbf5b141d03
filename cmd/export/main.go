// Command export writes a MrPrism model as ONNX, as smaller weights, as the mean of several runs,
// or with the ranges and the trust that inference needs.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
	"mrprism/weights/format/onnx"
)

const program = "export"

// The side of random weights, and the largest side: there the tables of positions have 64 MiB.
const defaultSide, maxSide = 256, 2048

// Forms of attention.
const attentionPlain, attentionORT = "plain", "ort"

// Limits of random weights, as in weights files.
const maxRaters, maxClasses = 64, 16

func main() { cli.Main(run) }

// request holds the flags.
type request struct {
	weights string
	random
	graphs
	stored
	believed
	labels
	given map[string]bool // flags that were set
}

// random is a configuration with random weights.
type random struct {
	config          string
	raters, classes int
	seed            uint64
}

// graphs are the flags of the ONNX file.
type graphs struct {
	onnx, part, attention string
	passes, side          int
}

// stored are the files of f32, f16 and int8 weights, and the runs of their mean.
type stored struct{ mean, f32, f16, int8 string }

// believed are the flags of -ranges; -f16 and -int8 are measured on data too.
type believed struct {
	ranges, data, also, folds, splits string
	turns                             bool

	aside map[string]int // by image, the run of -folds that had set it aside; nil: as "train -fold" does
}

// labels change the metadata of weights.
type labels struct {
	mirror      bool
	title, task string
}

// declare declares the program's flags.
func (r *request) declare() (flags *cli.Groups, device *computing.Device) {
	flags = cli.NewGroups()
	flags.Add("weights", func(f *flag.FlagSet) {
		f.StringVar(&r.weights, "weights", "", "`NAME` of a shipped model, or a .safetensors FILE")
		f.StringVar(&r.config, "config", "", "instead of -weights: configuration `NAME` with random weights: compact, mobile, paper or tiny; NAME-steered adds the raters' weights to the maps")
		f.IntVar(&r.raters, "raters", 4, "raters of random weights")
		f.IntVar(&r.classes, "classes", 2, "structures of random weights")
		f.Uint64Var(&r.seed, "seed", 1, "decides random weights")
	})
	flags.Add("ONNX", func(f *flag.FlagSet) {
		f.StringVar(&r.onnx, "onnx", "", "write `FILE` as ONNX")
		f.StringVar(&r.part, "part", "all", "all: the whole inference; encoder: the encoder alone")
		f.StringVar(&r.attention, "attention", attentionPlain, "plain: standard operators, for every runtime; ort: ONNX Runtime's MultiHeadAttention")
		f.IntVar(&r.passes, "passes", segment.DefaultRecurrences+1, "number `N` of masks: Rec0 to Rec(N-1); weights without heads have 1")
		f.IntVar(&r.side, "side", 0, "image side in `pixels`, a multiple of 64 (default: of the weights; with -config 256)")
	})
	flags.Add("smaller weights and means", func(f *flag.FlagSet) {
		f.StringVar(&r.mean, "mean", "", "`NAME|FILE`[,...]: average these weights with those of -weights; all runs must begin from the same weights")
		f.StringVar(&r.f32, "f32", "", "write the mean to `FILE` as float32")
		f.StringVar(&r.f16, "f16", "", "write float32 weights, or the mean, to `FILE` as float16")
		f.StringVar(&r.int8, "int8", "", "write float32 weights, or the mean, to `FILE` as int8")
	})
	flags.Add("ranges and trust", func(f *flag.FlagSet) {
		f.StringVar(&r.ranges, "ranges", "", "write the weights to `FILE`, with the ranges for int8 and with what -data says about when to doubt a result")
		f.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data sets; -ranges learns from their training images, and -f16 and -int8 are measured on them")
		f.StringVar(&r.also, "also", "", "with -ranges: `DIR`[,DIR] that other people have marked, as in \"train -also\"")
		f.StringVar(&r.folds, "folds", "", "with -ranges: `FILE`,FILE[,…], the weights of \"train -fold 1/K\" to K/K, in this order, on the same -data and -also. Calibration and intervals are learned from images that these runs had set aside")
		f.StringVar(&r.splits, "splits", "", "with -folds: `FILE`,FILE[,…], the splits of these runs (train -split), in the same order, in place of -fold. The images of their test lists are learned from")
		f.BoolVar(&r.turns, "turns", false, "with -ranges, for a model trained with -turns: three of four training images are turned first, and the programs do not doubt photographs because they are turned. A search that finds nothing then looks at the turned photograph")
	})
	flags.Add("metadata, with -ranges, -f32, -f16 or -int8", func(f *flag.FlagSet) {
		f.BoolVar(&r.mirror, "mirror", false, "every program takes the mean of the maps and the mirror image's maps, in twice the time. For images whose mirror image could be another image, as that of an eye. Measure with \"evaluate\" if it is better. \"train -init\" ignores it; -mirror=false removes it")
		f.StringVar(&r.title, "title", "", "one line about the model, for people")
		f.StringVar(&r.task, "task", "", "what the images show")
	})
	flags.Add("computing", func(f *flag.FlagSet) { device = computing.DeviceFlag(f) })
	return flags, device
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r request
	flags, device := r.declare()
	p := cli.Program{Name: program, Intro: intro + "  " + computing.Shipped() + "\n", Examples: examples, Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, flags, args, func(rest []string) (err error) {
		r.given = flags.Given()
		if len(rest) > 0 {
			return cli.Wrong("unexpected argument %q", rest[0])
		}
		if err := r.check(); err != nil {
			return cli.Wrong("%w", err)
		}
		if err := device.Check(); err != nil {
			return err
		}
		var line string
		switch {
		case r.stores():
			line, err = r.store(ctx, device, stderr)
		case r.ranges != "":
			line, err = r.withRanges(ctx, device, stderr)
		default:
			line, err = r.export(ctx)
		}
		if err == nil {
			fmt.Fprintln(stdout, line)
		}
		return err
	})
}

// check returns an error if the flags contradict each other.
func (r *request) check() error {
	graphFlags := []string{"side", "passes", "part", "attention"}
	switch {
	case r.weights == "" && r.config == "":
		return fmt.Errorf("which weights? give -weights NAME or FILE (shipped: %s), or -config for random ones", computing.Shipped())
	case r.weights != "" && (r.given["config"] || r.given["raters"] || r.given["classes"] || r.given["seed"]):
		return fmt.Errorf("-weights decides the configuration: leave out -config, -raters, -classes and -seed")
	case r.stores():
		return cmp.Or(r.checkStore(), r.unused("-f32, -f16 and -int8", graphFlags, []string{"also", "folds", "splits", "turns"}), r.checkMeasuring())
	case r.mean != "":
		return fmt.Errorf("-mean needs -f32, -f16 or -int8; export that file in a second step")
	case r.ranges != "" && (r.weights == "" || r.data == "" || r.onnx != ""):
		return fmt.Errorf("-ranges needs -weights and -data, and is not written together with -onnx")
	case r.ranges != "":
		return r.unused("-ranges", graphFlags)
	case r.also != "" || r.folds != "" || r.splits != "" || r.turns:
		return fmt.Errorf("-also, -folds, -splits and -turns need -ranges")
	case r.given["mirror"] || r.given["title"] || r.given["task"]:
		return fmt.Errorf("-mirror, -title and -task are written into weights: give -ranges, -f32, -f16 or -int8")
	case r.onnx == "":
		return fmt.Errorf("where to? give -onnx FILE, or -ranges, -f32, -f16 or -int8")
	case same(r.onnx, r.weights):
		return fmt.Errorf("-onnx %s would be written over the weights", r.onnx)
	}
	return r.checkGraph()
}

// checkGraph checks the flags of -onnx.
func (r *request) checkGraph() error {
	switch {
	case r.part != "all" && r.part != "encoder":
		return fmt.Errorf("-part %s: choose all or encoder", r.part)
	case r.attention != attentionPlain && r.attention != attentionORT:
		return fmt.Errorf("-attention %s: choose %s or %s", r.attention, attentionPlain, attentionORT)
	case r.part == "encoder" && (r.given["passes"] || r.given["attention"]):
		return fmt.Errorf("-part encoder has no passes and no attention: leave out -passes and -attention")
	case r.passes < 1 || r.passes > segment.MaxRecurrences+1:
		return fmt.Errorf("-passes %d: choose 1 to %d", r.passes, segment.MaxRecurrences+1)
	case r.given["side"] && (r.side < model.SideMultiple || r.side > maxSide || r.side%model.SideMultiple != 0):
		return fmt.Errorf("-side %d: choose a multiple of %d up to %d", r.side, model.SideMultiple, maxSide)
	case r.raters < 1 || r.raters > maxRaters || r.classes < 1 || r.classes > maxClasses:
		return fmt.Errorf("-raters %d, -classes %d: choose 1 to %d raters and 1 to %d structures", r.raters, r.classes, maxRaters, maxClasses)
	}
	if r.config != "" {
		if _, err := model.NewConfig(r.config, r.raters, r.classes); err != nil {
			return fmt.Errorf("-config %s: choose compact, mobile, paper or tiny", r.config)
		}
	}
	if info, err := os.Stat(r.onnx); err == nil && info.IsDir() {
		return fmt.Errorf("-onnx %s is a folder; name a file in it, e.g. %s", r.onnx, filepath.Join(r.onnx, "model.onnx"))
	}
	return r.unused("-onnx", []string{"data"}, deviceFlags)
}

// deviceFlags are the flags that say what computes.
var deviceFlags = []string{"device"}

// unused returns an error if one of the flags was given, which have no effect on this output.
func (r *request) unused(output string, flags ...[]string) error {
	for _, name := range slices.Concat(flags...) {
		if r.given[name] {
			return fmt.Errorf("-%s has no effect on %s: leave it out", name, output)
		}
	}
	return nil
}

// checkMeasuring checks -data and the device flags beside -f32, -f16 and -int8.
func (r *request) checkMeasuring() error {
	if r.f16 == "" && r.int8 == "" {
		return r.unused("-f32 alone, which is not measured", []string{"data"}, deviceFlags)
	}
	if r.data == "" {
		return r.unused("weights that are not measured (-data DIR)", deviceFlags)
	}
	return nil
}

// stores reports whether to write weights as f32, f16 or int8.
func (r *request) stores() bool { return r.f32 != "" || r.f16 != "" || r.int8 != "" }

// checkStore checks -mean, -f32, -f16 and -int8.
func (r *request) checkStore() error {
	switch {
	case r.weights == "" || r.onnx != "" || r.ranges != "":
		return fmt.Errorf("-f32, -f16 and -int8 need -weights, and are not written together with -onnx or -ranges")
	case r.f32 != "" && r.mean == "":
		return fmt.Errorf("-f32 writes a mean: give -mean")
	}
	files := r.sources()
	if slices.Contains(files, "") {
		return fmt.Errorf("-mean %s: a name is missing", r.mean)
	}
	for _, path := range []string{r.f32, r.f16, r.int8} {
		if path != "" {
			files = append(files, path)
		}
	}
	for i, path := range files {
		if slices.ContainsFunc(files[:i], func(other string) bool { return same(path, other) }) {
			return fmt.Errorf("-weights, -mean, -f32, -f16 and -int8 are different files: %s is there twice", path)
		}
	}
	return nil
}

// sources are the weights of -weights and of -mean.
func (r *request) sources() []string {
	if r.mean == "" {
		return []string{r.weights}
	}
	return append([]string{r.weights}, strings.Split(r.mean, ",")...)
}

// same reports whether two paths are of one file.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}

// export writes the ONNX file and returns a line about it.
func (r *request) export(ctx context.Context) (string, error) {
	if err := command.CheckOutputs(r.onnx); err != nil {
		return "", err
	}
	var s *source
	var err error
	if r.weights != "" {
		s, err = fromWeights(ctx, r.weights)
	} else {
		s, err = r.random.source(ctx)
	}
	if err != nil {
		return "", err
	}
	defer s.close()
	g, err := r.graph(ctx, s)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = weights.WriteAtomic(r.onnx, g.Model.Write)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(r.onnx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s, %s at %d×%d, %d nodes, %.1f MB", r.onnx, s.about.Name, r.part, r.side, r.side, len(g.Model.Nodes), float64(info.Size())/1e6), nil
}

// graph builds the ONNX graph. Without -side it has the side of the weights.
func (r *request) graph(ctx context.Context, s *source) (*onnx.Graph, error) {
	if r.side == 0 {
		r.side = s.about.Side
	}
	g := onnx.NewGraph(s.about.Name)
	heads, passes := segment.HasHeads(&s.about), r.passes
	if segment.Feedbacks(&s.about) == 0 && r.part == "all" {
		if r.given["passes"] && passes > 1 {
			return nil, fmt.Errorf("-passes %d: %s was trained for one pass (recipe %s)", passes, s.about.Name, s.about.Recipe)
		}
		passes = 1
	}
	if r.part == "encoder" {
		passes = 0
	}
	if err := r.network(ctx, g, s, passes, heads); err != nil {
		return nil, err
	}
	about := s.about
	metadata := map[string]any{
		"classes": about.Classes, "raters": about.Raters, "mean": about.Mean, "deviation": about.Deviation,
		"standardise": about.Standardise, "singlePieces": about.SinglePieces, "mirrored": about.Mirrored,
		"name": about.Name, "title": about.Title, "task": about.Task, "configuration": about.Configuration, "labels": about.Labels,
		"anchor": about.Anchor, "data": about.Data, "side": r.side, "part": r.part, "weights_sha256": s.sha256,
		"use": "research; not a medical device",
	}
	if passes > 0 {
		metadata["passes"] = passes
	}
	for key, value := range metadata {
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("metadata %s: %w", key, err)
			}
			text = string(encoded)
		}
		g.Model.Metadata[key] = text
	}
	return g, nil
}
