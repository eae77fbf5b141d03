// Package training runs Algorithm 1 over a data set: batches, steps, checkpoints, exports. cmd/train is its command.
package training

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"mrprism/internal/dataset"
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

// Options are one run's choices; together with the data they decide every step.
type Options struct {
	Data   []string     // data set folders
	Also   []string     // folders that other people have marked, maybe with fewer classes: every second image is from these, and teaches the mask alone
	Config string       // compact, paper, tiny
	Recipe model.Recipe // losses and optimiser
	Phases []Phase      // in order
	Batch  int
	// Accumulate is the number of batches whose gradients make one step, with the memory of one; 0: 1. Batch norm still sees one at a time.
	Accumulate int
	Clip       float64         // largest norm of the gradient of all parameters; 0: any
	Precision  model.Precision // in which the network's maps and their gradients are stored: F32, or F16 with scaling of the loss; empty: F32
	Warmup     int             // steps over which the learning rate rises; 0: a tenth of the run, or none where the rate is constant
	Seed       uint64

	Standardise    bool    // images: model.Standardise in place of model.Normalise, by the exported model too
	SinglePieces   bool    // each structure is one piece: of its mask the largest is kept wherever the model is used
	AnyOrientation bool    // images have neither an up nor a left: training views are turned by any angle and mirrored both ways
	Turns          bool    // photographs lie any of four ways: training views are turned by a multiple of 90° more
	Away           float64 // where there is an anchor, share of training views that look where it is not
	Distract       float64 // share of training views on which lesions, reflexes and veils are painted beside what is marked
	Grain          float64 // every second training view gets noise of a deviation of 0 to so many times the picture's own
	Elastic        float64 // training views are bent: control points, a quarter of the side apart, move by up to this share of the side; at most 0.1
	Swell          float64 // where there is an anchor, what lies about its middle is seen smaller or larger in training, by up to exp(±Swell)

	Anchor string // class that is searched for in whole photographs; empty: images are always seen whole
	Name   string // of the exported model
	Title  string
	Task   string

	Out    string // folder of checkpoints and exports
	Resume bool   // go on from the checkpoint in Out
	Init   string // weights file to start from
	Names  string // what the tensors of Init are, where they were trained in PyTorch: torch.FindMap's argument; empty: Init is a model of ours
	Commit string // of the program
	DryRun bool   // for Try: nothing is written, and Out is not needed

	Validate   float64 // share of the training part that is set aside, to score the averaged weights after every epoch
	Fold       Fold    // or the fold that is
	ScoreEvery int     // epochs from one such score to the next; 0: 1
	Patience   int     // epochs without a better score after which the run ends; 0: no end

	SkipBad bool // leave out images whose files cannot be read, instead of ending; the others keep their order and what is held out stays so

	CheckpointSeconds float64 // time between checkpoints; 0: after every step
	Pictures          int     // to report over the run
	Recompute         bool    // less memory, more time, the same bits: model.Config.Recompute

	Note func(string) // is told what the user should know; may be nil
}

// augmentation is dataset.DefaultAugmentation, in any orientation where images have none.
func (o Options) augmentation() dataset.Augmentation {
	a := dataset.DefaultAugmentation
	if o.AnyOrientation {
		a.Rotation, a.FlipY = 180, 0.5
	}
	a.Elastic, a.Grain, a.Swell, a.Turns, a.Away, a.Distract = o.Elastic, o.Grain, o.Swell, o.Turns, o.Away, o.Distract
	return a
}

// accumulate is the number of batches a step.
func (o Options) accumulate() int { return max(1, o.Accumulate) }

// images is the number of images a step.
func (o Options) images() int { return o.Batch * o.accumulate() }

// mostPixels of the images of a batch, whose colours alone are then 4 GiB, the largest buffer of today's devices.
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
		return fmt.Errorf("names %s are of a file to start from, and none is given", o.Names)
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
		return fmt.Errorf("swell %v is of what lies within the anchor, and none is given (-anchor CLASS)", o.Swell)
	case !(o.Away >= 0 && o.Away < 1):
		return fmt.Errorf("away %v: a share of the views, from 0 on and below 1", o.Away)
	case o.Away > 0 && o.Anchor == "":
		return fmt.Errorf("away %v is from the anchor, and none is given (-anchor CLASS)", o.Away)
	case !(o.Distract >= 0 && o.Distract <= 1):
		return fmt.Errorf("distract %v: a share of the views, from 0 to 1", o.Distract)
	case !(o.Validate >= 0 && o.Validate < 1):
		return fmt.Errorf("share %v to set aside: a number from 0 on and below 1 is needed", o.Validate)
	case o.Validate > 0 && o.Fold.Of > 0:
		return fmt.Errorf("what is set aside is either a share or a fold, not both")
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
			return fmt.Errorf("batch size %d at side %d: no device holds so many images at once, at most %d; with -accumulate a step learns from several batches",
				o.Batch, p.Side, mostPixels/pixels)
		}
		if p.Epochs < 0 {
			return fmt.Errorf("%d epochs", p.Epochs)
		}
		if o.Batch == 1 && p.Side == model.SideMultiple {
			return fmt.Errorf("batch size 1 at side %d: BatchNorm has one pixel to average over; take a batch of 2 or a larger side", p.Side)
		}
		epochs += p.Epochs
	}
	if epochs == 0 {
		return fmt.Errorf("no epochs to train")
	}
	// what the data set will say is taken to be right; New asks again with the data set
	like := &dataset.Dataset{Name: "data", Classes: []string{cmp.Or(o.Anchor, "structure")}, Raters: []string{"rater"}}
	_, err := o.metadata(like, 1, 0).Map()
	return err
}
