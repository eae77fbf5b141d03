// Package training runs Algorithm 1 over a data set: batches, steps, checkpoints, exports.
// cmd/train is its command.
package training

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/model"
)

// Phase is a stretch of a run at one image side.
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

// Options are the choices of a run. Together with the data they decide every step.
type Options struct {
	Data []string // data set folders
	// Also names folders with other raters, maybe with fewer classes. Every second training image is
	// from them. They teach the mask alone.
	Also   []string
	Config string       // compact, paper, tiny
	Recipe model.Recipe // losses and optimiser
	Phases []Phase      // in order
	Batch  int
	// Accumulate is the number of batches whose gradients make one step, with the memory of one batch;
	// 0: 1. Batch norm sees one batch at a time.
	Accumulate int
	Clip       float64 // largest norm of the gradient of all parameters; 0: any
	// Precision of the network's maps and their gradients: F32, or F16 with scaling of the loss;
	// empty: F32.
	Precision model.Precision
	Warmup    int // steps; 0: a tenth of the run, or none for a constant rate
	Seed      uint64

	// How images are normalised and masks cleaned. The exported model repeats both.
	Standardise  bool // model.Standardise in place of model.Normalise
	SinglePieces bool // a structure is one piece: only the largest piece of its mask is kept

	// How training views vary.
	AnyOrientation bool    // they are turned by any angle and mirrored both ways
	Turns          bool    // they are also turned by a multiple of 90°
	Away           float64 // share that look away from the anchor
	Distract       float64 // share with painted lesions, reflexes and veils beside the structures
	Grain          float64 // every second view gets noise of up to this share of its deviation
	Elastic        float64 // control points, side/4 apart, move by up to this × side
	Swell          float64 // the anchor's inside is scaled by up to exp(±Swell)

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
	ScoreEvery int     // epochs between scores; 0: 1
	Patience   int     // epochs without a better score after which the run ends; 0: no end

	SkipBad bool // leave out images that cannot be read; the held-out images do not change

	CheckpointSeconds float64 // time between checkpoints; 0: after every step
	Pictures          int     // to report over the run
	Recompute         bool    // less memory, more time, the same bits: model.Config.Recompute

	Note func(string) // gets what the user should know; may be nil
}

// augmentation is dataset.DefaultAugmentation with the options of the run.
func (o Options) augmentation() dataset.Augmentation {
	a := dataset.DefaultAugmentation
	if o.AnyOrientation {
		a.Rotation, a.FlipY = 180, 0.5
	}
	a.Elastic, a.Grain, a.Swell, a.Turns, a.Away, a.Distract = o.Elastic, o.Grain, o.Swell, o.Turns, o.Away, o.Distract
	return a
}

// accumulate is the number of batches in a step.
func (o Options) accumulate() int { return max(1, o.Accumulate) }

// images is the number of images in a step.
func (o Options) images() int { return o.Batch * o.accumulate() }

// mostPixels is the largest batch, in pixels. Its colours have 4 GiB, the largest buffer of current
// devices.
const mostPixels = 4 << 30 / (3 * 4)

// Check refuses options that cannot be run.
func (o Options) Check() error {
	switch {
	case len(o.Data) == 0:
		return fmt.Errorf("no data: name at least one data set folder by -data, or a run's run.yaml by -with")
	case o.Out == "" && !o.DryRun:
		return fmt.Errorf("no output folder: name one by -out")
	case o.Batch < 1:
		return fmt.Errorf("batch size %d: at least 1 is needed (BatchNorm works better with 4 or more)", o.Batch)
	case o.Resume && o.Init != "":
		return fmt.Errorf("a run is either resumed or started from other weights, not both")
	case o.Names != "" && o.Init == "" && !o.Resume:
		return fmt.Errorf("names %s describe a file to start from, and none is given", o.Names)
	}
	if _, err := model.NewConfig(o.Config, 1, 1); err != nil {
		return err
	}
	switch {
	case !(o.Grain >= 0 && o.Grain <= 1):
		return fmt.Errorf("grain %v: a share of the picture's own deviation, from 0 to 1", o.Grain)
	case !(o.Elastic >= 0 && o.Elastic <= dataset.MostElastic):
		return fmt.Errorf("elastic %v: a share of the side from 0 to %v, beyond which images fold", o.Elastic, dataset.MostElastic)
	case !(o.Swell >= 0 && o.Swell <= dataset.MostSwell):
		return fmt.Errorf("swell %v: a number from 0 to %v, beyond which images fold", o.Swell, dataset.MostSwell)
	case o.Swell > 0 && o.Anchor == "":
		return fmt.Errorf("swell %v scales the inside of the anchor, and none is given (-anchor CLASS)", o.Swell)
	case !(o.Away >= 0 && o.Away < 1):
		return fmt.Errorf("away %v: a share of the views, from 0 on and below 1", o.Away)
	case o.Away > 0 && o.Anchor == "":
		return fmt.Errorf("away %v means away from the anchor, and none is given (-anchor CLASS)", o.Away)
	case !(o.Distract >= 0 && o.Distract <= 1):
		return fmt.Errorf("distract %v: a share of the views, from 0 to 1", o.Distract)
	case !(o.Validate >= 0 && o.Validate < 1):
		return fmt.Errorf("share %v to set aside: a number from 0 on and below 1 is needed", o.Validate)
	case o.Validate > 0 && o.Fold.Of > 0:
		return fmt.Errorf("either a share or a fold is set aside, not both")
	case o.ScoreEvery < 0 || o.ScoreEvery > 1 && !o.validates():
		return fmt.Errorf("a score every %d epochs: at least 1, and images set aside to score by (-validate or -fold)", o.ScoreEvery)
	case o.Patience < 0 || o.Patience > 0 && !o.validates():
		return fmt.Errorf("patience of %d epochs: at least 0, and images set aside to score by (-validate or -fold)", o.Patience)
	}
	switch o.Precision {
	case "", model.F32, model.F16:
	default:
		return fmt.Errorf("precision %s: training is in f32 or f16", o.Precision)
	}
	if o.Accumulate < 0 {
		return fmt.Errorf("%d batches a step: at least 1 is needed", o.Accumulate)
	}
	if o.Warmup < 0 {
		return fmt.Errorf("%d steps of warm-up: a number from 0 on is needed", o.Warmup)
	}
	if !(o.Recipe.Average >= 0 && o.Recipe.Average < 1) {
		return fmt.Errorf("momentum %v of the averaged weights: a number from 0 on and below 1 is needed", o.Recipe.Average)
	}
	for name, v := range map[string]float64{"learning rate": o.Recipe.Rate, "weight decay": o.Recipe.Decay, "weight of the Dice loss": o.Recipe.DiceWeight, "norm to clip gradients to": o.Clip, "time between checkpoints": o.CheckpointSeconds} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s %v: a number from 0 on is needed", name, v)
		}
	}
	epochs := 0
	for _, p := range o.Phases {
		if p.Side < model.SideMultiple || p.Side%model.SideMultiple != 0 {
			return fmt.Errorf("image side %d is not a multiple of %d", p.Side, model.SideMultiple)
		}
		if pixels := p.Side * p.Side; o.Batch > mostPixels/pixels {
			return fmt.Errorf("batch size %d at side %d: devices hold at most %d images at once; with -accumulate a step learns from several batches",
				o.Batch, p.Side, mostPixels/pixels)
		}
		if p.Epochs < 0 {
			return fmt.Errorf("%d epochs", p.Epochs)
		}
		if o.Batch == 1 && p.Side == model.SideMultiple {
			return fmt.Errorf("batch size 1 at side %d: BatchNorm has only one pixel to average over; use a batch of 2 or a larger side", p.Side)
		}
		epochs += p.Epochs
	}
	if epochs == 0 {
		return fmt.Errorf("no epochs to train")
	}
	// checks the options alone: New checks again with the data set
	like := &dataset.Dataset{Name: "data", Classes: []string{cmp.Or(o.Anchor, "structure")}, Raters: []string{"rater"}}
	_, err := o.metadata(like, 1, 0).Map()
	return err
}
