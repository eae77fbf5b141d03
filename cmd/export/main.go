// Command export writes a MrPrism model as ONNX, for other runtimes, as smaller weights, as the mean of several, or with the ranges that inference in
// int8 needs.
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
	"strconv"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/onnx"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

const program = "export"

const intro = `export - writes a model as ONNX, for ONNX Runtime and other programs, as smaller weights, as the mean of runs, or with what int8 needs

usage: export -weights NAME|FILE -onnx OUT.onnx [-part all|encoder] [-passes 4] [-side N]
       export -config compact|paper|tiny [-raters 4] [-classes 2] [-seed 1] -onnx OUT.onnx [...]      random weights, for benches
       export -weights FILE [-f16 OUT.safetensors] [-int8 OUT.safetensors] [-data DIR[,DIR]]        smaller weights, and their cost
       export -weights NAME|FILE -mean NAME|FILE[,...] [-f32 OUT.safetensors] [-f16 ...] [-int8 ...]   the mean of several runs
       export -weights NAME|FILE -data DIR[,DIR] -ranges OUT.safetensors [-mirror[=false]]

The ONNX file is opset 17, float32, one image of one side; axes are (1, channels, rows, columns). Its input is
  x         (1, 3, S, S)     RGB values 0..1 of the square to segment, minus mean, over deviation: those in the file's metadata
                             or, where that says "standardise": true, the square's own, over all pixels and colours, with values beyond
                             the 5th and 95th percentile counted as those; deviation at least 0.01, and the quotient within -4 to 4
With -part all its outputs are what "segment" computes from that square, probabilities 0..1 with every rater equally trusted at first:
  rec0, rec1 ...  (1, K, S, S)     the calibrated mask of each structure after each pass
  raters    (1, M, K, S, S)  each rater's likely mask after the last pass (with agreement levels: at least 1, 2 ... experts)
  Of weights trained without heads (recipes baseline, one-pass and bce) there is rec0 alone.
With -part encoder its outputs are what all passes share:
  f0 (1, ., S/64, S/64), and merge1 shortcut1 ... merge4 shortcut4 at S/32, S/16, S/8 and S/4: what ConP's stages make of the features
The search in whole photographs, resampling, measurements and, where the metadata say "mirrored": true, the mean with the maps of the mirror image, and
then, where they say "singlePieces": true, the choice of each mask's largest piece are not in the file. Batch normalisation is folded into the
convolutions, and int8 weights are written as the float32 that they stand for. All operators are ONNX's own; with -attention ort, attention is ONNX
Runtime's MultiHeadAttention, which nothing else reads; its WebGPU version (1.30) is wrong on lavapipe, so compare before use. Metadata of the file: name, classes, raters, side, mean, deviation, standardise,
singlePieces, mirrored and more.

With -f16 and -int8 the float32 weights of a run are written with half and a quarter of the bytes: heavy weights as float16, or as int8 with a
scale for each output channel, which all programs and the page compute with as the float32 that they stand for. With -data the training
images (all but every fifth) are segmented with both, and a table says for each structure what that changes in soft Dice, and for which
image the most. "train" writes int8 beside float32 by itself.

With -mean the weights of other runs are averaged with those of -weights, each counting the same, which often segments better than the best of
them (a model soup). It needs runs that went on from the same weights (train -init FILE with other seeds or flags), or a model and a run that went
on from it; runs from different random weights have no useful mean and are refused. Float16 and int8 weights count as the float32 that they stand for. -f32
writes the mean itself, for train -init. What -ranges writes is of one run: write it anew into the mean's file. Where only some of the files are
mirrored, say which the mean is to be: -mirror or -mirror=false.

With -ranges the weights are written as they are, together with what the training images of -data (and -also) say about them:
  - how large the inputs of layers become, which "-precision int8" of other programs needs
  - how results on training images are, and the encoder's features of these images. The programs doubt a result that is unlike these. Pictures
    of other kinds, which are drawn for it, and training images on which the model is wrong, decide how much each sign of that counts; the threshold
    lets 97 %% of the right results pass
  - with -folds, how probabilities and measurements are off on images that a run had set aside: monotone maps bring probabilities towards
    the raters' share of votes, as far as soft Dice does not fall by more than 0.1 of 100, and intervals about the range of mask and raters hold the
    majority's area and cup/disc ratio in 90 %% of images
    for i in 1 2 3 4; do train -data DIR -fold $i/4 -out runs/fold$i; done
    export -weights runs/all/model.safetensors -data DIR -folds runs/fold1/model.safetensors,…,runs/fold4/model.safetensors -ranges OUT.safetensors
The weights that ship say in their cards which of these they have.

With -mirror, beside -ranges, -f32, -f16 or -int8, the file says that every map is to be the mean with that of the mirror image, wherever the
model is used: where left and right mean nothing, as in eyes, or the same. It takes twice as long. Measure with "evaluate", on images that were
not trained on, whether it is better. -mirror=false takes it back, and "train -init" leaves it out. -title and -task, in the same places, say in
words what the model is, where "train" was not told.

The weights that ship:
  %s
`

const examples = `
examples:
  export -weights fundus -onnx fundus.onnx                       the whole inference, Rec0 to Rec3
  export -weights runs/mine/model.safetensors -passes 1 -side 512 -onnx model.onnx
  export -config paper -part encoder -onnx encoder.onnx          the paper's encoder with random weights, to time it elsewhere
  export -weights fundus -attention ort -onnx fundus-ort.onnx    for ONNX Runtime alone
  export -weights runs/mine/model.f32.safetensors -f16 mine-f16.safetensors -int8 mine.safetensors -data data/mine
  export -weights runs/a/model.f32.safetensors -mean runs/b/model.f32.safetensors -f32 mean.f32.safetensors -int8 mean.safetensors
  export -weights runs/mine/model.safetensors -data data/mine -ranges mine.safetensors

exit codes: 0 done, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C (a file that was there is unchanged)
`

// Sides: that of random weights, and the most that is written, where the tables of positions alone have 64 MiB.
const defaultSide, maxSide = 256, 2048

// Forms of attention.
const attentionPlain, attentionORT = "plain", "ort"

// Bounds on random weights, as weights files have them.
const maxRaters, maxClasses = 64, 16

func main() { command.Main(run) }

// request is what the user asked for.
type request struct {
	weights, config, out          string
	mean, data, also, folds       string
	ranges                        string
	f32, f16, int8                string
	part, attention               string
	mirror, turns                 bool
	title, task                   string
	raters, classes, passes, side int
	seed                          uint64
	given                         map[string]bool // flags that were set
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var r request
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.StringVar(&r.weights, "weights", "", "`NAME` of a model that ships, or a .safetensors FILE")
	flags.StringVar(&r.config, "config", "", "instead of -weights: `NAME` of a configuration with random weights: compact, paper or tiny; NAME-steered is that to which raters' weights are added")
	flags.IntVar(&r.raters, "raters", 4, "raters of random weights")
	flags.IntVar(&r.classes, "classes", 2, "structures of random weights")
	flags.Uint64Var(&r.seed, "seed", 1, "decides random weights")
	flags.StringVar(&r.out, "onnx", "", "`FILE` to write as ONNX")
	flags.StringVar(&r.part, "part", "all", "all: the whole inference; encoder: the encoder alone")
	flags.StringVar(&r.attention, "attention", attentionPlain, "plain: standard operators, for every runtime; ort: ONNX Runtime's MultiHeadAttention")
	flags.IntVar(&r.passes, "passes", segment.DefaultRecurrences+1, "masks `N`: Rec0 to Rec(N-1); of weights trained without heads 1")
	flags.IntVar(&r.side, "side", 0, "image side in `pixels`, a multiple of 64 (default: the weights' own; with -config 256)")
	flags.StringVar(&r.ranges, "ranges", "", "`FILE` to write instead of -onnx: the weights, with the ranges that int8 needs, and what -data says about when to believe a result")
	flags.StringVar(&r.also, "also", "", "beside -ranges: `DIR`[,DIR] that other people have marked, as \"train -also\" takes them")
	flags.StringVar(&r.folds, "folds", "", "beside -ranges: `FILE`,FILE[,…], the weights of \"train -fold 1/K\" to K/K on the same -data and -also, in this order: calibration and intervals are learned from images that these had set aside")
	flags.StringVar(&r.mean, "mean", "", "`NAME|FILE`[,...]: weights of other runs from the same start, to be averaged with those of -weights")
	flags.StringVar(&r.f32, "f32", "", "`FILE` to write instead: the mean of -mean as float32")
	flags.StringVar(&r.f16, "f16", "", "`FILE` to write instead: float32 weights, or the mean, as float16")
	flags.StringVar(&r.int8, "int8", "", "`FILE` to write instead: float32 weights, or the mean, as int8")
	flags.BoolVar(&r.mirror, "mirror", false, "beside -ranges, -f32, -f16 or -int8: maps are to be means with those of the mirror image")
	flags.BoolVar(&r.turns, "turns", false, "beside -ranges: of a model that was trained with -turns: look at three of four training images turned, so that turned photographs are not doubted for that; and say in the file that a search that finds nothing is to look at the photograph turned")
	flags.StringVar(&r.title, "title", "", "beside -ranges, -f32, -f16 or -int8: one line about the model, for people")
	flags.StringVar(&r.task, "task", "", "beside -ranges, -f32, -f16 or -int8: what the images show")
	flags.StringVar(&r.data, "data", "", "`DIR`[,DIR]: data set folders whose training images -ranges looks at and -f16 and -int8 are measured on")
	wish := command.DeviceFlags(flags)
	names := command.Shipped()
	if names == "" {
		names = "none in this build; give a file"
	}
	rest, code, done := command.Parse(flags, fmt.Sprintf(intro, names), examples, args, stdout, stderr)
	if done {
		return code
	}
	r.given = map[string]bool{}
	flags.Visit(func(f *flag.Flag) { r.given[f.Name] = true })
	if err := r.check(rest, names); err != nil {
		return command.Misused(stderr, program, "%v", err)
	}
	if err := wish.Check(); err != nil {
		return command.Misused(stderr, program, "%v", err)
	}
	write := r.export
	switch {
	case r.stores():
		write = func(ctx context.Context) (string, error) { return r.store(ctx, wish, stderr) }
	case r.ranges != "":
		write = func(ctx context.Context) (string, error) { return r.withRanges(ctx, wish, stderr) }
	}
	line, err := write(ctx)
	if err != nil {
		return command.Fail(ctx, stderr, program, err)
	}
	fmt.Fprintln(stdout, line)
	return command.Done
}

// check says what is wrong with the usage.
func (r *request) check(rest []string, names string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case r.weights == "" && r.config == "":
		return fmt.Errorf("which weights? give -weights NAME or FILE (that ship: %s), or -config for random ones", names)
	case r.weights != "" && (r.given["config"] || r.given["raters"] || r.given["classes"] || r.given["seed"]):
		return fmt.Errorf("-weights decides the configuration: leave out -config, -raters, -classes and -seed")
	case r.stores():
		return cmp.Or(r.checkStore(), r.unused("-f32, -f16 and -int8", "side", "passes", "part", "attention"), r.checkMeasuring())
	case r.mean != "":
		return fmt.Errorf("-mean is written by -f32, -f16 or -int8; export its file in a second step")
	case r.ranges != "" && (r.weights == "" || r.data == "" || r.out != ""):
		return fmt.Errorf("-ranges needs -weights and -data, and is not written together with -onnx")
	case r.ranges != "":
		return r.unused("-ranges", "side", "passes", "part", "attention")
	case r.also != "" || r.folds != "" || r.turns:
		return fmt.Errorf("-also, -folds and -turns are for -ranges")
	case r.given["mirror"] || r.given["title"] || r.given["task"]:
		return fmt.Errorf("-mirror, -title and -task are written into weights, by -ranges, -f32, -f16 or -int8")
	case r.out == "":
		return fmt.Errorf("where to? give -onnx FILE, or -ranges, -f32, -f16 or -int8")
	case same(r.out, r.weights):
		return fmt.Errorf("-onnx %s would be written over the weights", r.out)
	case r.part != "all" && r.part != "encoder":
		return fmt.Errorf("-part %s: there are all and encoder", r.part)
	case r.attention != attentionPlain && r.attention != attentionORT:
		return fmt.Errorf("-attention %s: there are %s and %s", r.attention, attentionPlain, attentionORT)
	case r.part == "encoder" && (r.given["passes"] || r.given["attention"]):
		return fmt.Errorf("-part encoder has no passes and no attention: leave out -passes and -attention")
	case r.passes < 1 || r.passes > segment.MaxRecurrences+1:
		return fmt.Errorf("-passes %d: 1 to %d are possible", r.passes, segment.MaxRecurrences+1)
	case r.given["side"] && (r.side < model.SideMultiple || r.side > maxSide || r.side%model.SideMultiple != 0):
		return fmt.Errorf("-side %d: it has to be a multiple of %d up to %d", r.side, model.SideMultiple, maxSide)
	case r.raters < 1 || r.raters > maxRaters || r.classes < 1 || r.classes > maxClasses:
		return fmt.Errorf("-raters %d, -classes %d: 1 to %d raters and 1 to %d structures are possible", r.raters, r.classes, maxRaters, maxClasses)
	}
	if err := r.unused("-onnx", slices.Concat([]string{"data"}, deviceFlags)...); err != nil {
		return err
	}
	if info, err := os.Stat(r.out); err == nil && info.IsDir() {
		return fmt.Errorf("-onnx %s is a folder; name a file in it, e.g. %s", r.out, filepath.Join(r.out, "model.onnx"))
	}
	if r.config != "" {
		if _, err := model.NewConfig(r.config, r.raters, r.classes); err != nil {
			return fmt.Errorf("-config %s: there are compact, paper and tiny", r.config)
		}
	}
	return nil
}

// deviceFlags are those that say what computes.
var deviceFlags = []string{"device", "dawn-lib"}

// unused is an error where one of the flags was given, which say nothing for this output.
func (r *request) unused(output string, flags ...string) error {
	for _, name := range flags {
		if r.given[name] {
			return fmt.Errorf("-%s says nothing about %s: leave it out", name, output)
		}
	}
	return nil
}

// checkMeasuring says what is wrong with -data, and with what computes, beside -f32, -f16 and -int8.
func (r *request) checkMeasuring() error {
	if r.f16 == "" && r.int8 == "" {
		return r.unused("-f32 alone, of which nothing is measured", slices.Concat([]string{"data"}, deviceFlags)...)
	}
	if r.data == "" {
		return r.unused("weights that are not measured (-data DIR)", deviceFlags...)
	}
	return nil
}

// stores reports whether weights are to be written as f32, f16 or int8.
func (r *request) stores() bool { return r.f32 != "" || r.f16 != "" || r.int8 != "" }

// checkStore says what is wrong with -mean, -f32, -f16 and -int8.
func (r *request) checkStore() error {
	switch {
	case r.weights == "" || r.out != "" || r.ranges != "":
		return fmt.Errorf("-f32, -f16 and -int8 need -weights, and are not written together with -onnx or -ranges")
	case r.f32 != "" && r.mean == "":
		return fmt.Errorf("-f32 writes a mean: say of what with -mean")
	}
	files := []string{r.weights}
	if r.mean != "" {
		files = append(files, strings.Split(r.mean, ",")...)
	}
	if slices.Contains(files, "") {
		return fmt.Errorf("-mean %s: a name is missing", r.mean)
	}
	files = slices.DeleteFunc(append(files, r.f32, r.f16, r.int8), func(path string) bool { return path == "" })
	for i, path := range files {
		if slices.ContainsFunc(files[:i], func(other string) bool { return same(path, other) }) {
			return fmt.Errorf("-weights, -mean, -f32, -f16 and -int8 are different files: %s is there twice", path)
		}
	}
	return nil
}

// same reports whether two paths are of one file.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}

// export writes the file and returns a line about it.
func (r *request) export(ctx context.Context) (string, error) {
	if err := command.CheckOutputs(r.out); err != nil {
		return "", err
	}
	s, err := r.source(ctx)
	if err != nil {
		return "", err
	}
	g, err := r.graph(s)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := weights.WriteAtomic(r.out, func(w io.Writer) error { return g.Model.Write(w) }); err != nil {
		return "", err
	}
	info, err := os.Stat(r.out)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s, %s at %d×%d, %d nodes, %.1f MB", r.out, s.about.Name, r.part, r.side, r.side, len(g.Model.Nodes), float64(info.Size())/1e6), nil
}

func (r *request) source(ctx context.Context) (*source, error) {
	if r.weights != "" {
		return fromWeights(r.weights)
	}
	return random(ctx, r.config, r.raters, r.classes, r.seed)
}

// graph builds the ONNX graph that was asked for, at the weights' own side where none was.
func (r *request) graph(s *source) (*onnx.Graph, error) {
	if r.side == 0 {
		r.side = s.about.Side
	}
	g := onnx.NewGraph(s.about.Name)
	n := network{
		Graph: g, Config: s.config, weights: s.values, ownAttention: r.attention == attentionORT,
		heads: segment.Feedbacks(&s.about) > 0,
	}
	passes := r.passes
	if !n.heads && r.part == "all" {
		if r.given["passes"] && passes > 1 {
			return nil, fmt.Errorf("-passes %d: %w, and has one pass", passes, segment.CheckHeads(s.about.Name, &s.about))
		}
		passes = 1
	}
	if r.part == "encoder" {
		passes = 0
		n.encoding(r.side)
	} else {
		n.inference(r.side, passes)
	}
	about := s.about
	for key, value := range map[string]any{
		"classes": about.Classes, "raters": about.Raters, "mean": about.Mean, "deviation": about.Deviation,
		"standardise": about.Standardise, "singlePieces": about.SinglePieces,
		"mirrored": about.Mirrored,
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("metadata %s: %w", key, err)
		}
		g.Model.Metadata[key] = string(text)
	}
	for key, value := range map[string]string{
		"name": about.Name, "title": about.Title, "task": about.Task, "configuration": about.Configuration, "labels": about.Labels,
		"anchor": about.Anchor, "data": about.Data, "side": strconv.Itoa(r.side), "part": r.part, "weights_sha256": s.sha256,
		"use": "research; not a medical device",
	} {
		g.Model.Metadata[key] = value
	}
	if passes > 0 {
		g.Model.Metadata["passes"] = strconv.Itoa(passes)
	}
	return g, nil
}
