package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/training"
	"mrprism/model"
)

// declared are the program's flags, and what has to be worked out after they are read.
type declared struct {
	*command.Groups
	data, also, fold, phases, recipe, schedule, precision, with *string
	side, epochs                                                *int
	rate, decay, dice, average                                  *float64
	crossEntropy                                                *bool
	device                                                      command.Device
}

// declare makes the flags; what needs no working out goes into the runner at once.
func (r *runner) declare() *declared {
	d, o := &declared{Groups: command.NewGroups(program)}, &r.options
	d.Add("data", func(f *flag.FlagSet) {
		d.data = f.String("data", "", "data set `FOLDER`s, separated by commas; of the same classes and raters (required)")
		d.also = f.String("also", "", "`FOLDER`s that other people have marked, separated by commas, of the same classes or some of them: every second image is from these; the majority of their marks teaches the mask, and no rater or level")
		f.StringVar(&o.Anchor, "anchor", "", "`CLASS` that is searched for in whole photographs; crops are then drawn at all scales around it")
		f.Float64Var(&o.Validate, "validate", 0, "`SHARE` of the training images to set aside: after every epoch the averaged weights are scored on them, and the best kept as NAME.best")
		d.fold = f.String("fold", "", "`I/K`: set the I-th of K parts aside, instead of a share; K runs, one for each I, score every training image once. What \"evaluate\" holds out is in no part")
		f.IntVar(&o.ScoreEvery, "score-every", 1, "`EPOCHS` from one score of -validate or -fold to the next; the last epoch is always scored")
		f.BoolVar(&o.SkipBad, "skip-bad", false, "leave out images whose files cannot be read, naming them, instead of ending (\"train check\" finds them first)")
	})
	d.Add("model", func(f *flag.FlagSet) {
		f.StringVar(&o.Config, "config", "compact", "network: compact (6 M parameters, what the site downloads), paper (35 M) or, to try things, tiny; the default recipe makes compact-steered or paper-steered of it, where raters' weights are added to the maps")
		f.StringVar(&o.Init, "init", "", "start from the weights in `FILE`, or of a model that ships by its name, instead of random ones; of a model of other numbers of raters or classes, from what does not depend on them")
		f.StringVar(&o.Names, "names", "", "-init is a state dict of PyTorch saved as safetensors, and `MAP` says what its tensors are: resnet (torchvision's ResNet-34 for -config paper), same (our names) or a JSON file as {\"names\": {\"backbone.\": \"encoder.\", \"head.\": null}}, if need be with \"mean\" and \"deviation\" of the colours it was trained on. What it does not have starts at random")
		f.StringVar(&o.Name, "name", "model", "name of the exported model")
		f.StringVar(&o.Title, "title", "", "one line about the model, for people")
		f.StringVar(&o.Task, "task", "", "what the images show")
	})
	d.Add("recipe", func(f *flag.FlagSet) {
		d.recipe = f.String("recipe", "default", "default; unsteered (default before raters' weights were learned, to compare with); paper (the letter of the paper); baseline (the mean vote under the same losses, without recurrence and raters); one-pass (baseline with raters' weights); bce (baseline under cross-entropy alone)")
		d.side = f.Int("side", 128, "image side in pixels, a multiple of 64")
		d.phases = f.String("phases", "", "`SIDE:EPOCHS`,… instead of -side and -epochs: small images first, for speed (64:60,128:40,256:5)")
		f.IntVar(&o.Batch, "batch", 4, "images at once; a step is one batch, or several with -accumulate")
		f.IntVar(&o.Accumulate, "accumulate", 1, "`BATCHES` whose gradients make one step, as of a larger batch in the memory of one; batch norm sees one at a time")
		f.Float64Var(&o.Clip, "clip", 0, "largest `NORM` of the gradient of all parameters together; a longer one is shortened to it (0: any)")
		d.rate = f.Float64("rate", 0, "peak learning rate (0: the recipe's)")
		d.schedule = f.String("schedule", "", "how the rate goes on after the warm-up: cosine, to a hundredth, or constant (default the recipe's)")
		f.IntVar(&o.Warmup, "warmup", 0, "`STEPS` over which the rate rises (0: a tenth of the run, none where the rate is constant; 1: none)")
		f.BoolVar(&o.SinglePieces, "single-pieces", false, "each structure is one piece: wherever the model is used, of its mask the largest piece is kept, and what is found elsewhere is left out")
		f.BoolVar(&o.Standardise, "standardise", false, "take brightness and contrast out of every image, by the mean and deviation of its own values (those beyond the 5th and 95th percentile count as these), here and wherever the model is used: for images that differ much in both, as in microscopy")
		f.BoolVar(&o.AnyOrientation, "any-orientation", false, "the images have neither an up nor a left: turn them by any angle and mirror them both ways (otherwise by up to 20 degrees, and left for right)")
		f.BoolVar(&o.Turns, "turns", false, "photographs may lie any of four ways: turn them by 90, 180 or 270 degrees too")
		f.Float64Var(&o.Away, "away", 0, "`SHARE` of the views that look where the anchor is not, and must come out empty")
		f.Float64Var(&o.Distract, "distract", 0, "`SHARE` of the views on which bright and dark lesions, reflexes and veils are painted beside what is marked, so that these are not taken for it")
		f.Float64Var(&o.Elastic, "elastic", 0, "bend the images, smoothly, by up to this `SHARE` of their side (0.05 bends visibly, 0.1 is the most): for what has no fixed form, as cells")
		f.Float64Var(&o.Grain, "grain", 0, "add noise to every second image, of up to this `SHARE` of the picture's own deviation (0.5 is much): for what is found in dim, grainy pictures too")
		f.Float64Var(&o.Swell, "swell", 0, "show what lies about the middle of the anchor smaller or larger, by up to exp(±`SWELL`), its outline as it is (0.9 is much): for cups of all sizes, where few discs were marked")
		d.crossEntropy = f.Bool("cross-entropy", false, "the mask learns by cross-entropy alone, as with the recipe bce, and without 1 − SSIM: better calibrated probabilities; masks were closer to the truth for some structures and farther for others (weights/shipped/STUDY.md)")
		d.dice = f.Float64("dice", 0, "`WEIGHT` of a Dice loss of the mask beside the recipe's losses (with 1 it is somewhat larger than that by SSIM): for structures that are small or thin, which weigh little where every pixel counts alike; sharper masks, less well calibrated")
		d.decay = f.Float64("decay", 0, "decoupled weight decay of Adam; biases and norms do not decay")
		d.average = f.Float64("ema", -1, "`MOMENTUM` of the averaged weights, which are what is exported (0: the last weights; -1: the recipe's)")
		d.precision = f.String("precision", "f32", "f32; or f16, where the GPU has it: the network's maps and their gradients take half the memory (of the whole 0.9 at side 128, 0.8 at 256), weights and losses stay f32, and the loss is scaled, which skips a step now and then")
		f.Uint64Var(&o.Seed, "seed", 1, "decides the start, the order and every random draw")
	})
	d.Add("end", func(f *flag.FlagSet) {
		d.epochs = f.Int("epochs", 150, "passes over the images at -side")
		f.IntVar(&o.Patience, "patience", 0, "stop after so many `EPOCHS` without a better score on what -validate or -fold set aside (0: never)")
		f.Float64Var(&r.hours, "hours", 0, "stop, saved, after so many `HOURS`; -resume goes on (0: no limit)")
		f.StringVar(&r.stopFile, "stop-file", "", "stop, saved, when this `FILE` appears; -resume goes on (default RUN/stop)")
	})
	d.Add("run", func(f *flag.FlagSet) {
		f.StringVar(&o.Out, "out", "", "`FOLDER` of the run (required)")
		f.BoolVar(&o.Resume, "resume", false, "go on from the checkpoint in -out; what decides the result as it was")
		d.with = f.String("with", "", "take flags from a YAML `FILE` of lines as \"rate: 0.001\"; those of the command line win. A run's run.yaml is one; a run's folder stands for it")
		f.BoolVar(&o.DryRun, "dry-run", false, "only take a few steps at every image side and tell GPU memory and time; nothing is written, and -out not needed")
		f.Float64Var(&o.CheckpointSeconds, "save", 120, "`SECONDS` between checkpoints")
	})
	d.Add("device", func(f *flag.FlagSet) {
		d.device = command.DeviceFlags(f)
		f.BoolVar(&o.Recompute, "recompute", false, "keep less for the gradient and compute it again: 0.6 of the memory at side 256, 0.7 at 128, for 1.2 of the time; no bit of the result changes")
	})
	return d
}

// parse reads the flags; where the program is to end, done is true.
func (r *runner) parse(args []string, stdout io.Writer) (code int, done bool) {
	d := r.declare()
	rest, code, done := command.ParseGroups(d.Groups, intro, examples, args, stdout, r.stderr)
	if done {
		return code, true
	}
	var err error
	if len(rest) > 0 {
		err = fmt.Errorf("unexpected argument %q", rest[0])
	}
	if err == nil && *d.with != "" {
		err = d.readFile(*d.with, r.note)
	}
	if err == nil {
		err = d.resolve(&r.options)
	}
	if err == nil {
		err = r.options.Check()
	}
	switch {
	case err != nil:
	case !(r.hours >= 0):
		err = fmt.Errorf("-hours %v: a number from 0 on is needed", r.hours)
	default:
		err = d.device.Check()
	}
	if err != nil {
		return command.Misused(r.stderr, program, "%v", err), true
	}
	r.configuration = d.file()
	r.options.Note, r.stopFile = r.note, cmp.Or(r.stopFile, filepath.Join(r.options.Out, "stop"))
	open := d.device.Open
	r.open = func(ctx context.Context) (gpu.Device, error) {
		defer func() { open = d.device.OpenNamed }() // a GPU that is lost is not replaced by the CPU
		return open(ctx, r.note)
	}
	return 0, false
}

// resolve works out the options and writes into the flags what their defaults stood for.
func (d *declared) resolve(o *training.Options) (err error) {
	o.Commit, o.Pictures = commit, 50
	if *d.data != "" {
		o.Data = strings.Split(*d.data, ",")
	}
	if *d.also != "" {
		o.Also = strings.Split(*d.also, ",")
	}
	o.Phases = []training.Phase{{Side: *d.side, Epochs: *d.epochs}}
	if *d.phases != "" {
		if o.Phases, err = training.ParsePhases(*d.phases); err != nil {
			return err
		}
	}
	if *d.fold != "" {
		if o.Fold, err = training.ParseFold(*d.fold); err != nil {
			return err
		}
	}
	if o.Recipe, err = model.NewRecipe(*d.recipe); err != nil {
		return err
	}
	if o.Precision, err = model.ParsePrecision(*d.precision); err != nil {
		return err
	}
	if *d.crossEntropy {
		o.Recipe = o.Recipe.CrossEntropy()
	}
	if *d.rate != 0 {
		o.Recipe.Rate = *d.rate
	}
	if *d.average != -1 {
		o.Recipe.Average = *d.average
	}
	o.Recipe.Decay, o.Recipe.DiceWeight = *d.decay, *d.dice
	switch *d.schedule {
	case "":
	case "cosine", "constant":
		o.Recipe.Constant = *d.schedule == "constant"
	default:
		return fmt.Errorf("-schedule %s: cosine or constant", *d.schedule)
	}
	*d.rate, *d.average = o.Recipe.Rate, o.Recipe.Average
	*d.schedule = map[bool]string{false: "cosine", true: "constant"}[o.Recipe.Constant]
	return nil
}
