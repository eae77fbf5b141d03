package main

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/train"
)

// declared are the program's flags and fields of run.yaml, and the values that resolve turns into
// options.
type declared struct {
	*cli.Groups
	config, data, also, fold, phases, recipe, method, integration, rule, schedule, precision, with, augment, orientation string
	side, epochs, recurrences                                                                                            int
	rate, dice, average, multiHead, shuffle, decay, headsFirst                                                           float64
	device                                                                                                               *computing.Device
	divided                                                                                                              string // the split of the run whose file -with names
	began                                                                                                                string // the init of the run that -with and -resume name
	folder                                                                                                               string // of the file of flags, if it names the recipe; otherwise empty
}

// setting is a flag or a field. What its value points to is the default.
type setting struct {
	value       any
	name, usage string
}

func declare(settings []setting) func(f *flag.FlagSet) {
	return func(f *flag.FlagSet) {
		for _, s := range settings {
			switch v := s.value.(type) {
			case *string:
				f.StringVar(v, s.name, *v, s.usage)
			case *bool:
				f.BoolVar(v, s.name, *v, s.usage)
			case *int:
				f.IntVar(v, s.name, *v, s.usage)
			case *uint64:
				f.Uint64Var(v, s.name, *v, s.usage)
			case *float64:
				f.Float64Var(v, s.name, *v, s.usage)
			}
		}
	}
}

// declare declares the flags and fields. Most of them are options of the runner.
func (r *runner) declare() *declared {
	o := &r.options
	d := &declared{Groups: cli.NewGroups(), config: "compact", recipe: "default", precision: "f32", augment: "none", orientation: "tilted",
		side: 128, epochs: 150, dice: -1, average: -1, multiHead: -1, shuffle: -1}
	o.Slots, o.Name, o.ScoreEvery, o.Batch, o.Accumulate, o.Seed, o.CheckpointSeconds = train.SlotsPeople, "model", 1, 4, 1, 1, 120
	for _, part := range parts(&o.Views) {
		*part.value = -1
	}
	d.Add("data", declare([]setting{
		{&d.data, "data", "`FOLDER`s of data, separated by commas, with the same classes and raters (required)"},
		{&d.also, "also", "`FOLDER`s that other people have marked, separated by commas, with all or some of the classes. Every second batch comes from them. " +
			"Their mean vote trains the mask. It is rounded to multiples of 1/M, where M is the number of raters of -data. Raters' heads do not learn from these images"},
		{&o.Split, "split", "`FILE` that lists the images for training, validation and test, in place of split.json in the folder"},
		{&o.Slots, "slots", "what a rater of -data `IS`: people (the same in every image), drawn (readers are exchangeable, as in LIDC), levels (agreement levels are made of them) or " +
			"panels (each folder has other people, who become one rater of its name: the mask learns what folders share, and how far each shifts it. Folders take turns. Needs -recipe bce)"},
		{&o.Validate, "validate", "set this `SHARE` of the training images aside. After every epoch the averaged weights are scored on them, and the best kept as NAME.best"},
		{&r.judge, "judge", "at the end, compare with `MODEL`, such as that of -init, on images held out or set aside: RUN/judgement.json, and the card NAME.md"},
		{&o.Cross, "cross", "with -judge, for few images: learn from all; then `K` more runs each set a part aside and are judged on it. They teach the model when to doubt a result, and how far it errs"},
	}))
	d.Add("model", declare([]setting{
		{&d.config, "config", "`NETWORK`: compact (6 million parameters), mobile (5.6 million, on a MobileNetV2), paper (35 million), small (.3 million, see \"export -finder\") or tiny (for trials)"},
		{&o.Init, "init", "start from the weights in `FILE`, or from a shipped model. Other raters than its own begin as these"},
		{&o.Name, "name", "`NAME` of the exported model"},
		{&d.recipe, "recipe", "`RECIPE` of the list above. RECIPE" + byEntropy + " trains its mask by cross-entropy alone"},
		{&d.method, "method", "`METHOD` of the list above in place of MrPrism, with recipe bce"},
		{&d.dice, "dice", "`WEIGHT` of a Dice loss of the mask, which makes masks sharper (-1: the recipe's)"},
	}))
	d.Add("training", declare([]setting{
		{&d.side, "side", "side of the images in `PIXELS`, a multiple of 64"},
		{&d.epochs, "epochs", "`PASSES` over the images at -side"},
		{&d.phases, "phases", "`SIDE:EPOCHS`,… in place of -side and -epochs, such as 64:60,128:40. Small images first make a run faster"},
		{&o.Batch, "batch", "`IMAGES` in a batch"},
		{&d.rate, "rate", "highest learning `RATE` (0: the recipe's)"},
		{&o.Seed, "seed", "`NUMBER` that decides the initial weights, the order and every random draw"},
		{&o.Patience, "patience", "stop after `EPOCHS` without a better score of the images set aside (0: never)"},
	}))
	d.Add("images", declare([]setting{
		{&o.Anchor, "anchor", "`CLASS` that the model searches for in whole photographs. Training views of all scales lie around it"},
		{&d.augment, "augment", "`NAME` of further changes of the views: " + strings.Join(slices.Sorted(maps.Keys(augmentations)), ", ") + ". -h all has its parts, which run.yaml can set one by one"},
		{&d.orientation, "orientation", "how views are `TURNED`: tilted (by up to 20 degrees, and mirrored), upright (not at all), quarters (tilted, and by 90, 180 or 270 degrees) or any (by any angle, mirrored both ways)"},
	}))
	d.Add("run", func(f *flag.FlagSet) {
		declare([]setting{
			{&o.Out, "out", "`FOLDER` of the run (required)"},
			{&o.Resume, "resume", "continue from the checkpoint in -out, with the same data and options: train -with RUN -resume"},
			{&d.with, "with", "take flags and fields from a YAML `FILE`, with lines such as \"rate: 0.001\", or from a run's folder. The command line overrides it. " +
				"The file of a run also has the recipe's rate, ema and schedule: give them beside another -recipe"},
			{&o.DryRun, "dry-run", "take a few steps at every image side, print GPU memory and time, and write nothing"},
			{&r.hours, "hours", "save and stop after `HOURS`; -resume continues (0: no limit)"},
		})(f)
		d.device = computing.DeviceFlag(f)
	})
	d.AddForExperts("for experts", declare([]setting{
		{&o.Labels, "labels", "`FOLDER` of fused labels, CLASS/NAME.png, that teach in place of the raters' masks, such as OUT/staple of \"evaluate fuse\". Greys are probabilities. " +
			"Give -recipe bce with it, or a -method that need not know who marked what"},
		{&d.fold, "fold", "`I/K`: set the I-th of K parts of the training images aside, as -validate does. K runs score every training image once"},
		{&o.Names, "names", "`MAP` that translates the names of -init, a PyTorch state dict saved as safetensors: resnet (torchvision's ResNet-34, for -config paper), " +
			"mobilenet (MobileNetV2 1.0 with its norms folded, for -config mobile), same, or a JSON file such as {\"names\": {\"backbone.\": \"encoder.\", \"head.\": null}}, " +
			"which may have \"mean\" and \"deviation\" of the colours it was trained on"},
		{&o.Accumulate, "accumulate", "`BATCHES` in a step: the gradient of a larger batch in the memory of one. Under mpirun the processes share them, and 1 is one for each"},
		{&d.precision, "precision", "`NUMBERS` to train in: f32, or f16, with less memory, if the GPU supports it. Weights and losses stay f32"},
		{&o.Recompute, "recompute", "compute parts of the network again for the gradient instead of keeping them: 0.6 of the memory at side 256, and 1.2 of the time"},
		{&o.CheckpointSeconds, "save", "`SECONDS` between checkpoints"},
	}))
	d.AddFields("fields of run.yaml, the file of -with: the parts of -augment", theFile, declare([]setting{
		{&o.Views.Away, "away", "`SHARE` of views without the anchor. Their masks must be empty"},
		{&o.Views.Restyle, "restyle", "`SHARE` of views that take on the look of another image: colours, or amplitudes of low frequencies"},
		{&o.Views.Distract, "distract", "`SHARE` of views with painted lesions, reflexes and veils beside the marks"},
		{&o.Views.Elastic, "elastic", "bend the images smoothly, by up to this `SHARE` of their side (at most 0.1)"},
		{&o.Views.Grain, "grain", "noise in every second view, up to this `SHARE` of the picture's deviation"},
		{&o.Views.Swell, "swell", "scale the middle of the anchor by up to exp(±`AMOUNT`), and keep its outline"},
	}))
	d.AddFields("fields: data and model", theFile, declare([]setting{
		{&o.Balance, "balance", "`CLASS` inside the one before it, as a cup in its disc: thirds of its relative size are drawn equally often"},
		{&o.SkipBad, "skip-bad", "`true`: leave out images with faulty files, and name them"},
		{&o.ScoreEvery, "score-every", "`EPOCHS` from one score to the next"},
		{&o.Previews, "previews", "`N` drawings over the run, RUN/preview.svg, of how the model sees an image held out or set aside"},
		{&o.SinglePieces, "single-pieces", "`true`: programs that use the model keep the largest piece of each mask"},
		{&o.Standardise, "standardise", "`true`: remove brightness and contrast from every image, in training and in every use"},
		{&o.Title, "title", "a `LINE` about the model, for people"},
		{&o.Task, "task", "`TEXT` that says what the images show"},
	}))
	d.AddFields("fields: optimiser", theFile, declare([]setting{
		{&o.Clip, "clip", "largest `NORM` of the gradient (0: no limit)"},
		{&d.schedule, "schedule", "`CURVE` of the rate after the warm-up: cosine or constant (empty: the recipe's)"},
		{&o.Warmup, "warmup", "`STEPS` in which the rate rises (0: a tenth of the run, or none if the rate is constant; 1: none)"},
		{&d.decay, "decay", "decoupled weight `DECAY` of Adam"},
		{&d.average, "ema", "`MOMENTUM` of the averaged weights, which are exported (0: export the last weights; -1: the recipe's)"},
		{&d.headsFirst, "heads-first", "`SHARE` of the run in which heads learn new raters, and the mask stays that of init"},
		{&o.SyncNorm, "sync-norm", "`true`: under mpirun batch norm takes its statistics over the batches of all processes"},
	}))
	d.AddFields("fields: the paper's Table 4, with recipes of the alternation", theFile, declare([]setting{
		{&d.integration, "integration", "how the decoder takes confidences in, a `WAY`: attention, concat or convlstm"},
		{&d.rule, "rule", "how confidences weigh marks in the fused label, a `RULE`: code, likelihood, agreement or mean"},
		{&d.recurrences, "recurrences", "`NUMBER` of passes in a step (0: the recipe's)"},
		{&d.multiHead, "multi-head", "`WEIGHT` of L_MH (-1: the recipe's)"},
		{&d.shuffle, "shuffle", "`WEIGHT` of L_sff (-1: the recipe's)"},
	}))
	d.Gone = gone
	return d
}

// theFile is where fields stand.
const theFile = "the file of -with"

// gone has flags of earlier versions, and what to give now.
var gone = map[string]string{
	"any-orientation": "-orientation any", "turns": "-orientation quarters", "upright": "-orientation upright", "cross-entropy": "-recipe NAME" + byEntropy,
	"folds": "-fold, -cross and -judge: passes that learned from folds trusted marks too much", "stop-file": "the file stop in the run's folder", "dawn-lib": "the variable MRPRISM_DAWN_LIB",
}

// byEntropy ends the name of a recipe whose mask learns by cross-entropy alone.
const byEntropy = "+cross-entropy"

// part is one of the changes that an augmentation joins.
type part struct {
	name  string
	value *float64
}

func parts(v *train.Views) []part {
	return []part{{"away", &v.Away}, {"restyle", &v.Restyle}, {"distract", &v.Distract}, {"elastic", &v.Elastic}, {"grain", &v.Grain}, {"swell", &v.Swell}}
}

// augmentations are the values of -augment: the changes that the shipped models of such images
// learned from (weights/shipped/training.csv).
var augmentations = map[string]train.Views{
	"none":       {},
	"fundus":     {Away: 0.06, Distract: 0.4, Elastic: 0.04, Grain: 0.3, Swell: 0.9},
	"microscopy": {Elastic: 0.1, Grain: 0.7},
	"scan":       {Elastic: 0.05, Grain: 0.3},
}

// augmented sets the parts that no field sets. Without an anchor there is nothing to look away
// from, and nothing that swells.
func (d *declared) augmented(o *train.Options) error {
	if err := choice.Known("augmentation", d.augment, slices.Sorted(maps.Keys(augmentations))); err != nil {
		return fmt.Errorf("-augment: %w", err)
	}
	preset := augmentations[d.augment]
	if o.Anchor == "" {
		preset.Away, preset.Swell = 0, 0
	}
	for i, part := range parts(&preset) {
		if set := parts(&o.Views)[i].value; *set == -1 {
			*set = *part.value
		}
	}
	return nil
}

// orientations are the values of -orientation. The last one is of versions that had two flags.
var orientations = map[string]func(v *train.Views){
	"tilted":       func(*train.Views) {},
	"upright":      func(v *train.Views) { v.Upright = true },
	"quarters":     func(v *train.Views) { v.Turns = true },
	"any":          func(v *train.Views) { v.AnyOrientation = true },
	"any+quarters": func(v *train.Views) { v.AnyOrientation, v.Turns = true, true },
}
