// Command export writes a MrPrism model as ONNX, as smaller weights, as the mean of several runs,
// or with the ranges and the trust that inference needs.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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

// example is a Python program that uses the ONNX file, which holds it.
//
//go:embed segment.py
var example string

// The side of random weights, and the largest side: there the tables of positions have 64 MiB.
const defaultSide, maxSide = 256, 2048

func main() { cli.Main(run) }

// request holds the flags.
type request struct {
	weights, mean             string
	panels, finder            string
	onnx                      string
	passes, side              int
	f32, f16, int8            string
	ranges, data, also, folds string
	mirror                    bool
	given                     map[string]bool // flags that were set

	aside map[string]int // by image, the run of -folds whose split sets it aside; nil: as "train -fold" does
}

// outputs are the kinds of files, with the flags that name one and those that it uses.
var outputs = []struct{ files, uses []string }{
	{[]string{"onnx"}, []string{"passes", "side"}},
	{[]string{"ranges"}, []string{"data", "also", "folds", "mirror", "device"}},
	{[]string{"f32", "f16", "int8"}, []string{"mean", "mirror", "panels", "finder"}},
}

// declare declares the program's flags.
func (r *request) declare() (flags *cli.Groups, device *computing.Device) {
	flags = cli.NewGroups()
	flags.Add("weights", func(f *flag.FlagSet) {
		f.StringVar(&r.weights, "weights", "", "`NAME` of a shipped model, or a .safetensors FILE; with -onnx also random-CONFIG: random weights of the configuration compact, mobile, paper or tiny")
	})
	flags.Add("ONNX", func(f *flag.FlagSet) {
		f.StringVar(&r.onnx, "onnx", "", "write `FILE` as ONNX")
		f.IntVar(&r.passes, "passes", segment.DefaultRecurrences+1, "number `N` of masks: Rec0 to Rec(N-1); weights without heads have 1. 0: the encoder alone")
		f.IntVar(&r.side, "side", 0, "image side in `pixels`, a multiple of 64 (default: of the weights)")
	})
	flags.Add("smaller weights and means", func(f *flag.FlagSet) {
		f.StringVar(&r.mean, "mean", "", "`NAME|FILE`[,...]: average these weights with those of -weights; all runs must begin from the same weights")
		f.StringVar(&r.panels, "panels", "", "`NAME=WEIGHT`[,...]: the mask is the mean of these panels (\"train -slots panels\") under these weights, others have none")
		f.StringVar(&r.finder, "finder", "", "`FILE` of a small network (\"train -config small\") that marks the anchor alone. It finds the anchor in whole photographs, and -weights draws in the square around it")
		f.StringVar(&r.f32, "f32", "", "write float32 weights, or the mean, to `FILE`")
		f.StringVar(&r.f16, "f16", "", "the same to `FILE` as float16")
		f.StringVar(&r.int8, "int8", "", "the same to `FILE` as int8")
	})
	flags.Add("ranges and trust", func(f *flag.FlagSet) {
		f.StringVar(&r.ranges, "ranges", "", "write the weights to `FILE`, with the ranges for int8 and with what -data says about when to doubt a result")
		f.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data sets, of whose training images -ranges learns")
		f.StringVar(&r.also, "also", "", "`DIR`[,DIR] that other people have marked, as in \"train -also\"")
		f.StringVar(&r.folds, "folds", "", "`FILE`,FILE[,…], the weights of \"train -fold 1/K\" to K/K, in this order, on the same -data and -also. Calibration and intervals are learned from images that these runs had set aside. FILE=SPLIT for runs of \"train -split SPLIT\": the images of their test lists are learned from")
	})
	flags.Add("all but ONNX", func(f *flag.FlagSet) {
		f.BoolVar(&r.mirror, "mirror", false, "every program takes the mean of the maps and the mirror image's maps, in twice the time. For images whose mirror image could be another image, as that of an eye. Measure with \"evaluate\" if it is better. \"train -init\" ignores it; -mirror=false removes it")
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
		case r.onnx != "":
			line, err = r.export(ctx)
		case r.ranges != "":
			line, err = r.withRanges(ctx, device, stderr)
		default:
			line, err = r.store()
		}
		if err == nil {
			fmt.Fprintln(stdout, line)
		}
		return err
	})
}

// check returns an error if the flags contradict each other.
func (r *request) check() error {
	if r.weights == "" {
		return fmt.Errorf("which weights? give -weights NAME or FILE (shipped: %s)", computing.Shipped())
	}
	wanted := slices.DeleteFunc(slices.Clone(outputs), func(o struct{ files, uses []string }) bool { return !slices.ContainsFunc(o.files, r.isGiven) })
	switch len(wanted) {
	case 0:
		return errors.New("where to? give -onnx FILE, -ranges FILE, or -f32, -f16 or -int8 FILE")
	case 1:
	default:
		return fmt.Errorf("%s and %s are not written together: give one of them", dashed(wanted[0].files), dashed(wanted[1].files))
	}
	for _, o := range outputs {
		for _, name := range o.uses {
			if r.given[name] && !slices.Contains(wanted[0].uses, name) {
				return fmt.Errorf("-%s has no effect on %s, but on %s: leave it out", name, dashed(wanted[0].files), dashed(o.files))
			}
		}
	}
	switch {
	case r.ranges != "" && r.data == "":
		return errors.New("-ranges needs -data, the data sets of which it learns")
	case r.passes < 0 || r.passes > segment.MaxRecurrences+1:
		return fmt.Errorf("-passes %d: choose 1 to %d, or 0 for the encoder", r.passes, segment.MaxRecurrences+1)
	case r.given["side"] && (r.side < model.SideMultiple || r.side > maxSide || r.side%model.SideMultiple != 0):
		return fmt.Errorf("-side %d: choose a multiple of %d up to %d", r.side, model.SideMultiple, maxSide)
	}
	files := r.sources()
	if slices.Contains(files, "") {
		return fmt.Errorf("-mean %s: a name is missing", r.mean)
	}
	for _, path := range []string{r.onnx, r.f32, r.f16, r.int8} {
		if path != "" && slices.ContainsFunc(files, func(other string) bool { return same(path, other) }) {
			return fmt.Errorf("%s is there twice: name another file to write", path)
		}
		files = append(files, path)
	}
	return nil
}

// isGiven reports whether the flag of an output names a file.
func (r *request) isGiven(output string) bool {
	return map[string]string{"onnx": r.onnx, "ranges": r.ranges, "f32": r.f32, "f16": r.f16, "int8": r.int8}[output] != ""
}

// dashed lists flags for people.
func dashed(flags []string) string { return "-" + strings.Join(flags, ", -") }

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
	s, err := fromWeights(ctx, r.weights)
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
	return fmt.Sprintf("%s: %s, %s at %d×%d, %d nodes, %.1f MB", r.onnx, s.about.Name, g.Model.Metadata["part"], r.side, r.side, len(g.Model.Nodes), float64(info.Size())/1e6), nil
}

// graph builds the ONNX graph. Without -side it has the side of the weights.
func (r *request) graph(ctx context.Context, s *source) (*onnx.Graph, error) {
	if r.side == 0 {
		r.side = s.about.Side
	}
	g := onnx.NewGraph(s.about.Name)
	passes, part := r.passes, "all"
	switch {
	case passes == 0:
		part = "encoder"
	case segment.Feedbacks(&s.about) > 0:
	case passes > 1 && r.given["passes"]:
		return nil, fmt.Errorf("-passes %d: %s was trained for one pass (recipe %s)", passes, s.about.Name, s.about.Recipe)
	default:
		passes = 1
	}
	if err := r.network(ctx, g, s, passes); err != nil {
		return nil, err
	}
	about := s.about
	metadata := map[string]any{
		"classes": about.Classes, "raters": about.Raters, "mean": about.Mean, "deviation": about.Deviation,
		"standardise": about.Standardise, "singlePieces": about.SinglePieces, "mirrored": about.Mirrored,
		"name": about.Name, "title": about.Title, "task": about.Task, "configuration": about.Configuration, "labels": about.Labels,
		"anchor": about.Anchor, "data": about.Data, "side": r.side, "part": part, "weights_sha256": s.sha256,
		"use": "research; not a medical device", "input": input, "output": output, "calibration": map[string]weights.Map{},
	}
	if about.Trust != nil && len(about.Trust.Maps) > 0 {
		metadata["calibration"] = about.Trust.Maps
	}
	if passes > 0 {
		masks := slices.DeleteFunc(slices.Clone(g.Model.Outputs), func(name string) bool { return !strings.HasPrefix(name, "rec") })
		metadata["passes"], metadata["example"] = len(masks), example
	}
	if len(about.Panels) > 0 {
		metadata["panels"] = about.Panels
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
