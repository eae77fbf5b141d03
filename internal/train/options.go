// Package train runs Algorithm 1 over a data set: batches, steps, checkpoints, exports.
// cmd/train is its command.
package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/shaders/ranks"
)

// Phase is a part of a run with one image side.
type Phase struct {
	Side   int // pixels, a multiple of 64
	Epochs int
}

// ParsePhases reads "SIDE:EPOCHS,SIDE:EPOCHS,…".
func ParsePhases(text string) ([]Phase, error) {
	var phases []Phase
	for part := range strings.SplitSeq(text, ",") {
		var p Phase
		var rest string
		if n, _ := fmt.Sscanf(part+" ", "%d:%d%s", &p.Side, &p.Epochs, &rest); n != 2 {
			return nil, fmt.Errorf("phase %q is not SIDE:EPOCHS, as in 128:40", part)
		}
		phases = append(phases, p)
	}
	return phases, nil
}

// What the slots of a data set's raters are.
const (
	SlotsPeople = "people" // each is the same person in every image
	SlotsDrawn  = "drawn"  // readers are exchangeable: who stands in which slot is drawn anew for each view
	SlotsLevels = "levels" // they become as many agreement levels (Dataset.BecomeLevels)
	SlotsPanels = "panels" // each folder of Data has other people or levels, who become one rater (dataset.Join)
)

// Slots are all of them.
var Slots = []string{SlotsPeople, SlotsDrawn, SlotsLevels, SlotsPanels}

// Options are the choices of a run. Options and data determine every step.
type Options struct {
	Data []string // data set folders
	// Also names folders with other raters, maybe with fewer classes. Every second training image is
	// from them, and trains the mask alone.
	Also  []string
	Split string // file of the split of Data (dataset.Split); empty: those of the folders
	// Labels is a folder of fused labels, which replace the raters' masks of Data (dataset.Taught);
	// empty: the raters' masks teach. It needs a recipe in which the mask alone learns.
	Labels string
	Slots  string       // what a rater of Data is: one of Slots; empty: SlotsPeople
	Config string       // compact, mobile, paper, small, tiny
	Recipe model.Recipe // losses and optimiser
	Phases []Phase      // in order
	Batch  int
	// Accumulate is the number of batches whose gradients make one step, in the memory of one
	// batch; 0 and 1: one for each rank. Ranks share the batches evenly. Batch norm sees one batch.
	Accumulate int
	// SyncNorm: batch norm takes its statistics over the present batches of all ranks.
	SyncNorm bool
	Clip     float64 // largest norm of the gradient of all parameters; 0: any
	// Precision of the network's maps and their gradients: F32, or F16 with scaling of the loss;
	// empty: F32.
	Precision model.Precision
	Warmup    int // steps; 0: a tenth of the run, or none for a constant rate
	Seed      uint64

	// How images are normalised and masks cleaned. The exported model repeats both.
	Standardise  bool // weights.Standardise in place of weights.Normalise
	SinglePieces bool // a structure is one piece: only the largest piece of its mask is kept

	Views
	Balance string // class whose thirds of size are drawn equally often: dataset.Options

	Anchor string // class to search whole photographs for; empty: images are always seen whole
	Name   string // of the exported model
	Title  string
	Task   string

	Out    string // folder of checkpoints and exports
	Resume bool   // from the checkpoint in Out
	Init   string // weights file to start from
	Names  string // torch.FindMap's argument if Init is from PyTorch; empty: Init is a model of ours
	Commit string // of the program
	DryRun bool   // for Try: nothing is written, and Out is not needed

	Validate   float64 // share of the training images that is set aside for scoring averaged weights
	Fold       Fold    // or the fold that is set aside
	Cross      int     // folds of a cross-validation over all images, none of which is held out; 0: none
	ScoreEvery int     // epochs between scores; 0: 1
	Patience   int     // epochs without a better score after which the run ends; 0: no end

	SkipBad bool // leave out images that cannot be read; the held-out images do not change

	CheckpointSeconds float64 // time between checkpoints; 0: after every step
	Pictures          int     // to report over the run
	Previews          int     // to report over the run; 0: none
	Recompute         bool    // less memory, more time: model.Execution

	Ranks ranks.Ranks // the processes that train together; nil: this one alone

	Note func(string) // gets what the user should know; may be nil
}

// Views says how training views vary.
type Views struct {
	AnyOrientation bool    // they are turned by any angle and mirrored both ways
	Upright        bool    // they are neither turned nor mirrored
	Turns          bool    // they are also turned by a multiple of 90°
	Away           float64 // share that look away from the anchor
	Restyle        float64 // share that take on the look of another image
	Distract       float64 // share with painted lesions, reflexes and veils beside the structures
	Grain          float64 // every second view gets noise of up to this share of its deviation
	Elastic        float64 // control points, side/4 apart, move by up to this × side
	Swell          float64 // the anchor's inside is scaled by up to exp(±Swell)
}

// augmentation is dataset.DefaultAugmentation with the options of the run.
func (o Options) augmentation() dataset.Augmentation {
	a := dataset.DefaultAugmentation
	if o.AnyOrientation {
		a.Rotation, a.FlipY = 180, 0.5
	}
	if o.Upright {
		a.Rotation, a.FlipX = 0, 0
	}
	a.Elastic, a.Grain, a.Swell, a.Turns, a.Away, a.Restyle, a.Distract = o.Elastic, o.Grain, o.Swell, o.Turns, o.Away, o.Restyle, o.Distract
	return a
}

// accumulate is the number of batches in a step, of all ranks.
func (o Options) accumulate() int {
	if o.Accumulate > 1 {
		return o.Accumulate
	}
	return o.size()
}

// batches is the number of batches of a rank in a step.
func (o Options) batches() int { return o.accumulate() / o.size() }

// size is the number of ranks.
func (o Options) size() int {
	if o.Ranks == nil {
		return 1
	}
	return o.Ranks.Size()
}

// rank is the number of this rank.
func (o Options) rank() int {
	if o.Ranks == nil {
		return 0
	}
	return o.Ranks.Rank()
}

// Follows says that another rank writes the run's files, scores and reports.
func (o Options) Follows() bool { return o.rank() > 0 }

// Share sets Accumulate to the number of batches in a step if it was left to the ranks, since a
// resumed run may have another number of ranks.
func (o *Options) Share() { o.Accumulate = o.accumulate() }

// images is the number of images in a step.
func (o Options) images() int { return o.Batch * o.accumulate() }

// mostPixels is the largest batch, in pixels. Its colours take 4 GiB, the largest buffer of current
// devices.
const mostPixels = 4 << 30 / (3 * 4)

// Check refuses options that cannot be run.
func (o Options) Check() error {
	switch {
	case len(o.Data) == 0:
		return choice.Errorf("no data: name at least one data set folder by $data, or a run's folder by $with")
	case o.Out == "" && !o.DryRun:
		return choice.Errorf("no folder for the run: name one by $out")
	case o.Resume && o.Init != "":
		return choice.Errorf("$resume continues a run, and $init starts a new one from weights: give one of them, not both")
	case o.Recipe.HeadsFirst > 0 && (!o.Recipe.Recurrent() || o.Recipe.Frozen):
		return choice.Errorf("${heads-first} %v: the recipe %s trains no heads; leave it out, or use the recipe default", o.Recipe.HeadsFirst, o.Recipe.Name)
	case o.Recipe.HeadsFirst > 0 && (o.Init == "" || o.Names != "") && !o.Resume:
		return choice.Errorf("${heads-first} %v needs a model of ours that finds the structure: name one by $init", o.Recipe.HeadsFirst)
	case o.Names != "" && o.Init == "" && !o.Resume:
		return choice.Errorf("$names %s translates the names in a file of PyTorch: name that file by $init", o.Names)
	case o.Swell > 0 && o.Anchor == "":
		return choice.Errorf("$swell %v scales the middle of the anchor: name it by $anchor CLASS", o.Swell)
	case o.Away > 0 && o.Anchor == "":
		return choice.Errorf("$away %v shows views without the anchor: name it by $anchor CLASS", o.Away)
	case o.Upright && (o.AnyOrientation || o.Turns):
		return choice.Errorf("$orientation: upright neither turns nor mirrors, and any and quarters do: give one of them")
	case o.Validate > 0 && o.Fold.Of > 0:
		return choice.Errorf("$validate and $fold each set images aside: give one of them, not both")
	case o.Cross == 1 || o.Cross < 0:
		return choice.Errorf("$cross %d: give 2 folds or more", o.Cross)
	case o.Cross > 0 && (o.Split != "" || o.Validate > 0):
		return choice.Errorf("$cross sets each image aside once, and $split and $validate choose some: leave these out")
	case o.Cross > 0 && o.Ranks != nil:
		return choice.Errorf("$cross trains one run after another in one process: leave mpirun out, or start the runs of $fold 1/K to K/K yourself")
	case o.accumulate()%o.size() != 0:
		return choice.Errorf("a step has %d batches, and %d ranks cannot share them evenly: start a number of ranks that divides %d, or, for a new run, "+
			"give $accumulate a multiple of %d", o.accumulate(), o.size(), o.accumulate(), o.size())
	case o.Slots != "" && !slices.Contains(Slots, o.Slots):
		return choice.Errorf("$slots %q: use %s", o.Slots, strings.Join(Slots, ", "))
	case o.Precision != "" && o.Precision != model.F32 && o.Precision != model.F16:
		return choice.Errorf("$precision %s: train in f32 or f16", o.Precision)
	}
	_, err := model.NewConfig(o.Config, 1, 1)
	if err := cmp.Or(o.checkLabels(), o.checkPanels(), err, o.checkNumbers(), o.checkPhases()); err != nil {
		return err
	}
	// only the options are checked here: New checks again with the data set
	like := &dataset.Dataset{Name: "data", Classes: []string{cmp.Or(o.Anchor, "structure")}, Raters: []string{"rater"}}
	_, err = o.metadata(like, 1, 0).Map()
	return err
}

// checkNumbers refuses numbers out of their ranges.
func (o Options) checkNumbers() error {
	const most, fromZero = math.MaxFloat64, "a number from 0 on"
	below1 := math.Nextafter(1, 0)
	for _, c := range []struct {
		option            string
		value, least, top float64
		wanted            string
	}{
		{"batch", float64(o.Batch), 1, most, "at least 1 image (BatchNorm works better with 4 or more)"},
		{"accumulate", float64(o.Accumulate), 0, most, "at least 1 batch"},
		{"warmup", float64(o.Warmup), 0, most, fromZero},
		{"score-every", float64(o.ScoreEvery), 0, most, "at least 1 epoch"},
		{"patience", float64(o.Patience), 0, most, fromZero},
		{"previews", float64(o.Previews), 0, most, fromZero},
		{"validate", o.Validate, 0, below1, "a share of the images, from 0 on and below 1"},
		{"away", o.Away, 0, below1, "a share of the views, from 0 on and below 1"},
		{"restyle", o.Restyle, 0, 1, "a share of the views, from 0 to 1"},
		{"distract", o.Distract, 0, 1, "a share of the views, from 0 to 1"},
		{"grain", o.Grain, 0, 1, "a share of the picture's deviation, from 0 to 1"},
		{"elastic", o.Elastic, 0, dataset.MostElastic, fmt.Sprintf("a share of the side, from 0 to %v: images fold beyond", dataset.MostElastic)},
		{"swell", o.Swell, 0, dataset.MostSwell, fmt.Sprintf("a number from 0 to %v: images fold beyond", dataset.MostSwell)},
		{"ema", o.Recipe.Average, 0, below1, "a momentum from 0 on and below 1"},
		{"rate", o.Recipe.Rate, 0, most, fromZero},
		{"decay", o.Recipe.Decay, 0, most, fromZero},
		{"dice", o.Recipe.DiceWeight, 0, most, fromZero},
		{"heads-first", o.Recipe.HeadsFirst, 0, 1, "a share of the run, from 0 to 1"},
		{"clip", o.Clip, 0, most, fromZero},
		{"save", o.CheckpointSeconds, 0, most, fromZero},
	} {
		if !(c.value >= c.least && c.value <= c.top) { // also NaN
			return choice.Errorf("${"+c.option+"} %v: give %s", c.value, c.wanted)
		}
	}
	return nil
}

// checkPhases refuses sides and batches that no device can train.
func (o Options) checkPhases() error {
	epochs := 0
	for _, p := range o.Phases {
		switch fit := mostPixels / max(1, p.Side*p.Side); {
		case p.Side < model.SideMultiple || p.Side%model.SideMultiple != 0:
			return fmt.Errorf("images of side %d: give a multiple of %d", p.Side, model.SideMultiple)
		case o.Batch > fit:
			return choice.Errorf("$batch %d at side %d: devices hold at most %d images at once; with $accumulate a step learns from several batches", o.Batch, p.Side, fit)
		case o.Batch == 1 && p.Side == model.SideMultiple:
			return choice.Errorf("$batch 1 at side %d: BatchNorm has only one pixel to average over; give a batch of 2 or a larger side", p.Side)
		case p.Epochs < 0:
			return fmt.Errorf("%d epochs at side %d: give a number from 0 on", p.Epochs, p.Side)
		}
		epochs += p.Epochs
	}
	if epochs == 0 {
		return choice.Errorf("no epochs to train: give at least one by $epochs or $phases")
	}
	return nil
}
