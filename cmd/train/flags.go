package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/internal/train"
	"mrprism/model"
	"mrprism/shaders/gpu"
)

// declared are the program's flags, and the values that resolve turns into options.
type declared struct {
	*cli.Groups
	config, data, also, fold, folds, phases, recipe, method, integration, rule, schedule, precision, with *string
	side, epochs, recurrences                                                                             *int
	rate, decay, dice, headsFirst, average, multiHead, shuffle                                            *float64
	crossEntropy                                                                                          *bool
	device                                                                                                *computing.Device
	divided                                                                                               string // the split of the run whose file -with names
	began                                                                                                 string // the init of the run that -with and -resume name
	folder                                                                                                string // of the file of flags, if it names the recipe; otherwise empty
}

// declare declares the flags. Most of them are options of the runner.
func (r *runner) declare() *declared {
	d, o := &declared{Groups: cli.NewGroups()}, &r.options
	d.Add("data", func(f *flag.FlagSet) {
		d.data = f.String("data", "", "`FOLDER`s of data, separated by commas, with the same classes and raters (required). "+
			"Behind a folder of agreement levels, folders of two or more people may follow: they count as the nearest levels")
		d.also = f.String("also", "", "`FOLDER`s of data that other people have marked, separated by commas, with all or some of the classes. "+
			"Every second batch comes from them: give whole images here where -data has crops. Their mean vote trains the mask, rounded to what as many masks as -data has raters can tell; they train no rater and no level")
		f.StringVar(&o.Split, "split", "", "`FILE` that lists the images for training, validation and test, in place of split.json in the data's folder")
		f.StringVar(&o.Labels, "labels", "", "`FOLDER` of fused labels, CLASS/NAME.png, that teach in place of the raters' masks, such as OUT/staple of \"evaluate fuse\". "+
			"Greys, of 8 or 16 bits, are probabilities. Give -recipe bce or baseline with it, or a -method that need not know who marked what. Scores still compare with the raters' mean vote")
		f.StringVar(&o.Slots, "slots", train.SlotsPeople, "what a rater of -data `IS`: people (the same person in every image), drawn (readers are exchangeable, as in LIDC: who stands in which "+
			"slot is drawn anew for each view) or levels (they become as many agreement levels)")
		f.StringVar(&o.Anchor, "anchor", "", "`CLASS` that the model searches for in whole photographs. Training views of all scales lie around it")
		f.StringVar(&o.Balance, "balance", "", "`CLASS` inside the one before it, as a cup in its disc. The range of its size relative to that one's is cut into thirds, "+
			"and images of each third are drawn equally often. Every image of -data must have marks of both")
		f.Float64Var(&o.Validate, "validate", 0, "set this `SHARE` of the training images aside. After every epoch train scores the averaged weights on them, "+
			"and keeps the best as NAME.best. Without -validate and -fold it scores on a split's validation list, if there is one")
		d.fold = f.String("fold", "", "`I/K`: set the I-th of K parts of the training images aside, as -validate does. K runs score every training image once")
		f.IntVar(&o.Cross, "cross", 0, "with -judge, for few images: this run learns from all of them. Then `K` runs in RUN/fold1 to RUN/foldK each set a part aside and are judged on it, and RUN/judgement.json has all parts. They teach the model when to doubt a result, and how far it errs (0: none)")
		f.StringVar(&r.judge, "judge", "", "at the end, score the new model and `MODEL`, such as that of -init, on the images held out or set aside, and say in RUN/judgement.json whether the new one is better, with an interval, and in a card, RUN/NAME.md, with RUN/NAME.card.json")
		f.IntVar(&o.Previews, "previews", 0, "draw after the first step, and then `N` times over the run, how the model sees an image held out or set aside, in RUN/preview.svg: the raters' outlines in white, the model's in colours")
		f.IntVar(&o.ScoreEvery, "score-every", 1, "`EPOCHS` from one score of -validate or -fold to the next. The last epoch is always scored")
		f.BoolVar(&o.SkipBad, "skip-bad", false, "leave out images with faulty files, and name them. Without it train stops at them. \"train check\" lists them")
	})
	d.Add("model", func(f *flag.FlagSet) {
		d.config = f.String("config", "compact", "`NETWORK`: compact (6 million parameters, as on the site), mobile (5.6 million; compact with a MobileNetV2 as its encoder), "+
			"paper (35 million) or tiny (for trials). -anchored-evidence follows the name if the recipe teaches the network to settle around given marks, and -steered if recipe steered "+
			"shows it the raters' weights. Name compact-steered yourself to go on from such weights with another recipe")
		f.StringVar(&o.Init, "init", "", "start from the weights in `FILE`, or from a shipped model, and not from random weights. "+
			"Other raters than its own begin as these. If it has another number of classes, tensors that depend on them start at random")
		f.StringVar(&o.Names, "names", "", "`MAP` that translates the names of -init, a PyTorch state dict saved as safetensors: resnet (torchvision's ResNet-34, for -config paper), "+
			"mobilenet (MobileNetV2 1.0 with its norms folded into weights and biases, for -config mobile), "+
			"same (no change), or a JSON file such as {\"names\": {\"backbone.\": \"encoder.\", \"head.\": null}}, which may have \"mean\" and \"deviation\" of the "+
			"colours it was trained on. Missing tensors start at random")
		d.folds = f.String("folds", "", "`FILE`,FILE: with -recipe evidence, weights of runs with -fold 1/K to K/K, in this order. The passes learn from what each run "+
			"makes of the images that it had set aside. Without them they learn from the images that -init has seen, with spoilt masks")
		f.StringVar(&o.Name, "name", "model", "`NAME` of the exported model")
		f.StringVar(&o.Title, "title", "", "`LINE` about the model, for people")
		f.StringVar(&o.Task, "task", "", "`TEXT` that says what the images show")
	})
	d.Add("recipe", func(f *flag.FlagSet) {
		d.recipe = f.String("recipe", "default", "`RECIPE` of losses and optimiser: default (the mean vote under cross-entropy and a Dice loss, a head for each rater, and passes that settle around given marks); "+
			"evidence (those passes alone, on the weights of -init, which stay as they are); recurrent (the paper's alternation as our tables favour it: cross-entropy and a Dice loss, without "+
			"L_sff and L_MH, by concatenation; it learns how far to trust each rater, and no rater's outline); steered (the alternation with our rule, losses and raters' weights); unsteered "+
			"(steered, and the network does not see the raters' weights); paper (exactly as in the paper; small structures often stay empty, unless you add -cross-entropy -rate 0.002 -schedule cosine -ema 0.98); "+
			"baseline (the mean vote under steered's losses, without recurrence and raters); "+
			"one-pass (baseline with raters' weights); bce (baseline with cross-entropy alone)")
		d.method = f.String("method", "", "`METHOD` of the list above in place of MrPrism, with the optimiser of recipe bce")
		d.integration = f.String("integration", "", "how the decoder takes the raters' confidences in: `WAY` is attention, concat or convlstm (the paper's Table 4); empty: the recipe's")
		d.rule = f.String("rule", "", "how confidences weigh the raters' marks in the fused label, with recipe recurrent, steered, unsteered or paper: `RULE` is code (by how likely "+
			"the rater marks the pixel, as the released code), likelihood (by the probability of the mark), agreement (with the mask) or mean (all alike); empty: the recipe's")
		d.recurrences = f.Int("recurrences", 0, "`NUMBER` of passes of ConP and DivP in a step, with recipe recurrent, steered, unsteered or paper (0: the recipe's)")
		d.multiHead = f.Float64("multi-head", -1, "`WEIGHT` of L_MH, the cross-entropy of each rater's mask, with recipe steered, unsteered or paper (-1: the recipe's)")
		d.shuffle = f.Float64("shuffle", -1, "`WEIGHT` of L_sff, the shuffle loss, with recipe steered, unsteered or paper (-1: the recipe's; 0: none)")
		d.side = f.Int("side", 128, "side of the images in `PIXELS`, a multiple of 64")
		d.phases = f.String("phases", "", "`SIDE:EPOCHS`,… in place of -side and -epochs, such as 64:60,128:40,256:5. Small images first make a run faster")
		f.IntVar(&o.Batch, "batch", 4, "`IMAGES` in a batch. A step is one batch, or several with -accumulate")
		f.IntVar(&o.Accumulate, "accumulate", 1, "`BATCHES` in a step: the gradient of a larger batch in the memory of one. Batch norm sees one batch at a time. "+
			"Under mpirun the processes share them evenly, and 1 is one for each")
		f.BoolVar(&o.SyncNorm, "sync-norm", false, "under mpirun: batch norm takes its statistics over the batches that all processes have at a time, and not over its own. For small batches")
		f.Float64Var(&o.Clip, "clip", 0, "largest `NORM` of the gradient of all parameters. A longer gradient is shortened (0: no limit)")
		d.rate = f.Float64("rate", 0, "highest learning `RATE` (0: the recipe's)")
		d.schedule = f.String("schedule", "", "`CURVE` of the learning rate after the warm-up: cosine (to a hundredth) or constant (default the recipe's)")
		f.IntVar(&o.Warmup, "warmup", 0, "`STEPS` in which the rate rises (0: a tenth of the run, or none if the rate is constant; 1: none)")
		d.crossEntropy = f.Bool("cross-entropy", false, "train the mask by cross-entropy alone, without 1 − SSIM, as the recipe bce does. Probabilities are better calibrated. "+
			"Masks come closer to the truth for some structures and not for others (weights/shipped/STUDY.md)")
		d.dice = f.Float64("dice", -1, "`WEIGHT` of a Dice loss of the mask beside the losses of the recipe or method (-1: the recipe's; the default recipe has 1). "+
			"Masks are sharper: nearer to the experts by 2 points of soft Dice on brains and 5 on cells (weights/shipped/tables)")
		d.headsFirst = f.Float64("heads-first", 0, "`SHARE` of the run, at its beginning, in which the mask stays that of -init, and its heads learn new raters (0: the mask learns first)")
		d.decay = f.Float64("decay", 0, "decoupled weight `DECAY` of Adam. Biases and norms do not decay")
		d.average = f.Float64("ema", -1, "`MOMENTUM` of the averaged weights, which are exported (0: export the last weights; -1: the recipe's)")
		d.precision = f.String("precision", "f32", "`NUMBERS` to train in: f32, or f16 if the GPU supports it. In f16 maps and their gradients take half the memory "+
			"(0.9 of the whole at side 128, 0.8 at 256). Weights and losses stay f32, and scaling of the loss skips a step now and then")
		f.Uint64Var(&o.Seed, "seed", 1, "`NUMBER` that decides the initial weights, the order and every random draw")
	})
	d.Add("images", func(f *flag.FlagSet) {
		f.BoolVar(&o.SinglePieces, "single-pieces", false, "each structure is one piece: every program that uses the model keeps the largest piece of its mask")
		f.BoolVar(&o.Standardise, "standardise", false, "remove brightness and contrast from every image, in training and in every use, by the mean and deviation of its values "+
			"(values beyond the 5th and 95th percentile count as these). For images that differ much in both, as in microscopy")
		f.BoolVar(&o.AnyOrientation, "any-orientation", false, "images have no up and no left: turn them by any angle and mirror them both ways. "+
			"Without it train turns them by up to 20 degrees and mirrors left and right")
		f.BoolVar(&o.Upright, "upright", false, "neither turn nor mirror the images. For raters who differ by direction, such as on the left and the right")
		f.BoolVar(&o.Turns, "turns", false, "photographs may lie any of four ways: also turn them by 90, 180 or 270 degrees")
		f.Float64Var(&o.Away, "away", 0, "`SHARE` of views without the anchor. Their masks must be empty")
		f.Float64Var(&o.Restyle, "restyle", 0, "give this `SHARE` of views the look of another image, of -data or -also: its colours' mean and deviation, or its amplitudes of low frequencies. "+
			"For marks of one camera and pictures of several")
		f.Float64Var(&o.Distract, "distract", 0, "`SHARE` of views with painted lesions, reflexes and veils beside the marks. The model must not mark these")
		f.Float64Var(&o.Elastic, "elastic", 0, "bend the images smoothly, by up to this `SHARE` of their side (0.05 is visible, 0.1 the maximum). "+
			"For structures without a fixed form, such as cells")
		f.Float64Var(&o.Grain, "grain", 0, "add noise to every second image, up to this `SHARE` of the picture's deviation (0.5 is much). For dim, grainy pictures")
		f.Float64Var(&o.Swell, "swell", 0, "scale the middle of the anchor by up to exp(±`AMOUNT`) and keep its outline (0.9 is much). For cups of all sizes from few marked discs")
	})
	d.Add("when to stop", func(f *flag.FlagSet) {
		d.epochs = f.Int("epochs", 150, "`PASSES` over the images at -side")
		f.IntVar(&o.Patience, "patience", 0, "stop after `EPOCHS` without a better score of -validate or -fold (0: never)")
		f.Float64Var(&r.hours, "hours", 0, "save and stop after `HOURS`; -resume continues (0: no limit)")
		f.StringVar(&r.stopFile, "stop-file", "", "save and stop when `FILE` appears; -resume continues (default RUN/stop)")
	})
	d.Add("run", func(f *flag.FlagSet) {
		f.StringVar(&o.Out, "out", "", "`FOLDER` of the run (required)")
		f.BoolVar(&o.Resume, "resume", false, "continue from the checkpoint in -out. Images, masks and every flag that decides the result must be as before: take the flags by -with RUN")
		d.with = f.String("with", "", "take flags from a YAML `FILE` with lines such as \"rate: 0.001\", or from the run.yaml of a run's folder. "+
			"Flags of the command line override the file. The file also has the recipe's -rate, -ema and -schedule: give them beside another -recipe")
		f.BoolVar(&o.DryRun, "dry-run", false, "take a few steps at every image side, print GPU memory and time, and write nothing. -out is not needed")
		f.Float64Var(&o.CheckpointSeconds, "save", 120, "`SECONDS` between checkpoints")
	})
	d.Add("device", func(f *flag.FlagSet) {
		d.device = computing.DeviceFlag(f)
		f.BoolVar(&o.Recompute, "recompute", false, "compute parts of the network again for the gradient instead of keeping them: 0.6 of the memory at side 256, 0.7 at 128, "+
			"and 1.2 of the time. Recurrences then share no sums, which round otherwise; without recurrences the result is the same to the bit")
	})
	return d
}

// settle turns the flags, and the file of -with, into the runner's options.
func (r *runner) settle(d *declared, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q", rest[0])
	}
	if *d.with != "" {
		if err := d.readFile(*d.with, r.note); err != nil {
			return err
		}
	}
	if err := d.resolve(&r.options); err != nil {
		return err
	}
	if err := r.options.Check(); err != nil {
		return err
	}
	if r.options.Cross > 0 && (r.judge == "" || r.options.Fold.Of > 0) {
		return errors.New("-cross judges by K runs: give -judge MODEL, and leave -fold out")
	}
	r.initial = cmp.Or(r.options.Init, d.began)
	if r.judge != "" {
		if _, err := computing.Weights(r.judge); err != nil {
			return fmt.Errorf("-judge: %w", err)
		}
	}
	r.options.Share()
	if !(r.hours >= 0) {
		return fmt.Errorf("-hours %v: give a number from 0 on", r.hours)
	}
	if err := d.device.Check(); err != nil {
		return err
	}
	r.configuration, r.divided = d.file(), d.divided
	r.options.Note, r.stopFile = r.note, cmp.Or(r.stopFile, filepath.Join(r.options.Out, "stop"))
	open := d.device.Open
	r.open = func(ctx context.Context) (gpu.Device, error) {
		defer func() { open = d.device.OpenNamed }() // the CPU does not replace a lost GPU
		return open(ctx, r.note)
	}
	return nil
}

// ensemble is a method that is no network of its own.
const ensemble = "ensemble"

// chooseArchitecture puts integration and method into the architecture's name, which run.yaml has
// without them.
func (d *declared) chooseArchitecture(o *train.Options) error {
	if m := model.MethodOf(*d.config); m != nil {
		return fmt.Errorf("-config %s names a method: give it by -method %s", *d.config, m.Name)
	}
	integration := o.Recipe.Integration
	if *d.integration != "" {
		var err error
		if integration, err = model.ParseIntegration(*d.integration); err != nil {
			return fmt.Errorf("-integration: %w", err)
		}
	}
	o.Config = *d.config
	if integration != model.Attention {
		o.Config += "-" + string(integration)
	}
	if *d.method == "" {
		return nil
	}
	if *d.method == ensemble {
		return fmt.Errorf("-method %s: an ensemble is several runs and no network of its own. Train each with -recipe %s and its own -out, -name "+
			"and -seed (the next ones by -with RUN -seed 2), and join the files for evaluate, as in -weights A+B+C+D+E", ensemble, model.MaskAlone)
	}
	if _, err := model.FindMethod(*d.method); err != nil {
		return fmt.Errorf("-method: %w", err)
	}
	o.Config += "-" + *d.method
	switch *d.recipe {
	case "default": // methods train with the recipe bce
		*d.recipe = model.MaskAlone
	case model.MaskAlone:
	default:
		return fmt.Errorf("-method %s has losses of its own and trains with -recipe %s: leave -recipe %s out", *d.method, model.MaskAlone, *d.recipe)
	}
	var err error
	o.Recipe, err = model.NewRecipe(*d.recipe)
	return err
}

// ablate changes the recipe as the flags of the paper's Table 4, and -rule, say.
func (d *declared) ablate(r *model.Recipe) error {
	const flags = "-recurrences, -multi-head, -shuffle and -rule"
	if *d.recurrences == 0 && *d.multiHead == -1 && *d.shuffle == -1 && *d.rule == "" {
		return nil
	}
	if !r.FuseLoss {
		return fmt.Errorf("%s change the paper's alternation, which recipe %s has not: use them with -recipe recurrent, steered, unsteered or paper", flags, r.Name)
	}
	if *d.recurrences < 0 || !(*d.multiHead >= 0 || *d.multiHead == -1) || !(*d.shuffle >= 0 || *d.shuffle == -1) {
		return errors.New("-recurrences, -multi-head and -shuffle are numbers from 0 on")
	}
	if !r.Heads() && (*d.multiHead > 0 || *d.shuffle > 0) {
		return fmt.Errorf("-multi-head and -shuffle teach raters' masks, and weights of recipe %s have none: use them with -recipe steered, unsteered or paper", r.Name)
	}
	r.Recurrences = cmp.Or(*d.recurrences, r.Recurrences)
	if *d.multiHead >= 0 {
		r.HeadsWeight = *d.multiHead
	}
	if *d.shuffle >= 0 {
		r.ShuffleWeight = *d.shuffle
	}
	if r.ShuffleWeight == 0 {
		r.Permutations, r.Draws = 0, 0
	}
	switch rule := model.Rule(*d.rule); rule {
	case "":
	case model.RuleMean:
		r.Rule, r.FuseLoss = rule, false // the mean vote does not depend on DivP
	case model.RuleCode, model.RuleLikelihood, model.RuleAgreement:
		r.Rule = rule
	default:
		return fmt.Errorf("-rule %s: choose code, likelihood, agreement or mean", rule)
	}
	return nil
}

// list splits a text at commas; nil for an empty text.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// resolve works out the options, and writes the values of defaults into the flags for run.yaml.
func (d *declared) resolve(o *train.Options) (err error) {
	o.Commit, o.Pictures = version.Commit(), 50
	o.Data, o.Also, o.Folds = list(*d.data), list(*d.also), list(*d.folds)
	o.Phases = []train.Phase{{Side: *d.side, Epochs: *d.epochs}}
	if *d.phases != "" {
		if o.Phases, err = train.ParsePhases(*d.phases); err != nil {
			return err
		}
	}
	if *d.fold != "" {
		if o.Fold, err = train.ParseFold(*d.fold); err != nil {
			return err
		}
	}
	folder := d.folder
	if o.Resume {
		folder = o.Out
	}
	*d.recipe = train.Renamed(folder, *d.recipe, d.folder != "")
	if o.Recipe, err = model.NewRecipe(*d.recipe); err != nil {
		return err
	}
	if err := d.chooseArchitecture(o); err != nil {
		return err
	}
	if err := d.ablate(&o.Recipe); err != nil {
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
	if *d.dice != -1 {
		o.Recipe.DiceWeight = *d.dice
	}
	o.Recipe.Decay, o.Recipe.HeadsFirst = *d.decay, *d.headsFirst
	switch *d.schedule {
	case "":
	case "cosine", "constant":
		o.Recipe.Constant = *d.schedule == "constant"
	default:
		return fmt.Errorf("-schedule %s: cosine or constant", *d.schedule)
	}
	o.Recipe.Unspoilt = len(o.Folds) > 0
	*d.rate, *d.average, *d.dice = o.Recipe.Rate, o.Recipe.Average, o.Recipe.DiceWeight
	*d.schedule = map[bool]string{false: "cosine", true: "constant"}[o.Recipe.Constant]
	return nil
}
