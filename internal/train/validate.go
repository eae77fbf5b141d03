package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/roi"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// Fold is run Index, 1 to Of, of a cross-validation: it sets the images of one fold aside, and each
// image is in one fold. The zero value means no cross-validation.
type Fold struct{ Index, Of int }

// ParseFold reads "I/K".
func ParseFold(text string) (f Fold, err error) {
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &f.Index, &f.Of, &rest); n != 2 || f.Of < 2 || f.Index < 1 || f.Index > f.Of {
		return Fold{}, fmt.Errorf("fold %q is not I/K with I from 1 to K, as in 2/5", text)
	}
	return f, nil
}

func (f Fold) String() string { return fmt.Sprintf("%d/%d", f.Index, f.Of) }

// validates says whether images are set aside.
func (o Options) validates() bool { return o.Validate > 0 || o.Fold.Of > 0 }

// split divides the training images into those to learn from and those set aside for scores. Only
// names decide, not the seed or the order of folders. All images of a unit (dataset.Units), such as
// a group, are on one side, and the folds take units in turn.
func (o Options) split(cases []dataset.Case) (learn, aside []dataset.Case) {
	for n, i := range dataset.Units(cases) {
		c, out := cases[n], math.Floor(float64(i+1)*o.Validate) > math.Floor(float64(i)*o.Validate)
		if o.Fold.Of > 0 {
			out = i%o.Fold.Of == o.Fold.Index-1
		}
		if out {
			aside = append(aside, c)
		} else {
			learn = append(learn, c)
		}
	}
	return learn, aside
}

// best is the best score. Checkpoints contain it.
type best struct {
	Score float64 // soft Dice
	Epoch int     // after which it was measured; 0: none yet
}

// BestSuffix follows the name of the exported model that scored best.
const BestSuffix = ".best"

// recurrences is the number of recurrences for scoring.
func (t *Trainer) recurrences() int {
	return segment.Feedbacks(&weights.Metadata{Recipe: t.Options.Recipe.Name})
}

// scoresNow says whether the weights are scored after this step: at the end of every ScoreEvery-th
// epoch, and at the end of the run.
func (t *Trainer) scoresNow() bool {
	every := t.epochSteps() * max(1, t.Options.ScoreEvery)
	return t.step%every == 0 || t.step == t.Steps()
}

// score measures the averaged weights on the images set aside if scoresNow, and exports them if
// they are the best.
func (t *Trainer) score(ctx context.Context) (*float64, error) {
	if len(t.aside) == 0 || !t.scoresNow() || t.Options.Follows() {
		return nil, nil
	}
	file, err := t.averaged(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.load(ctx, file); err != nil {
		return nil, err
	}
	mean, count, pieces := 0.0, 0, [][2]int{}
	for i, c := range t.aside {
		result, err := t.engine.Segment(ctx, c.Image, segment.Options{Recurrences: t.recurrences(), RaterWeights: t.alone(c.Folder)})
		if err != nil {
			return nil, fmt.Errorf("scoring %s/%s: %w", c.Folder, c.Name, err)
		}
		for k := range t.Dataset.Classes {
			if votes, ok := c.Votes(k); ok {
				mean += metric.SoftDice(result.Probability(k), votes)
				count++
			}
			if result.Measurements.Structures[k].Pieces > 1 {
				pieces = append(pieces, [2]int{i, k})
			}
		}
	}
	mean /= float64(max(count, 1))
	if t.best.Epoch == 0 || mean > t.best.Score {
		t.best, t.pieces = best{mean, t.step / t.epochSteps()}, pieces
		if err := t.Options.export(file, BestSuffix); err != nil {
			return nil, fmt.Errorf("exporting the best weights: %w; %w", err, t.adviceOnDisk())
		}
	}
	return &mean, nil
}

// adviceOnPieces tells the user if a tenth of the best masks or more are in several pieces where
// each rater's is in one.
func (t *Trainer) adviceOnPieces() {
	for k, class := range t.Dataset.Classes {
		n := 0
		for _, at := range t.pieces {
			l := t.aside[at[0]]
			several := func(mask []uint8) bool {
				return len(roi.Connected(len(mask), l.Image.W, true, func(i int) bool { return mask[i] == 1 })) > 1
			}
			if at[1] == k && !slices.ContainsFunc(l.ByRater(k), several) {
				n++
			}
		}
		if n > 0 && 10*n >= len(t.aside) && !t.Options.SinglePieces {
			t.Options.tell(fmt.Sprintf("in %d of %d images set aside the mask of the %s is in several pieces, and each rater's is in one: "+
				"a run with \"single-pieces: true\" in its file of flags makes a model that keeps the largest", n, len(t.aside), class))
		}
	}
}

// alone gives the panel of a folder all weight; nil without panels.
func (t *Trainer) alone(folder string) (weights []float32) {
	for p := range t.Config.Panels {
		weights = append(weights, 0)
		if t.Dataset.Raters[p] == folder {
			weights[p] = 1
		}
	}
	return weights
}

// scorable says whether some image has votes of some class to score by.
func scorable(aside []*dataset.Loaded, classes int) bool {
	return slices.ContainsFunc(aside, func(l *dataset.Loaded) bool {
		for k := range classes {
			if _, ok := l.Votes(k); ok {
				return true
			}
		}
		return false
	})
}

// load gives weights to the engine for scoring. The first call makes the engine.
func (t *Trainer) load(ctx context.Context, file *weights.File) (err error) {
	if t.engine != nil {
		return t.engine.Replace(ctx, file)
	}
	about, err := weights.ParseMetadata(file.Metadata)
	if err == nil {
		t.engine, err = segment.New(ctx, t.device, &weights.Model{File: file, Metadata: about}, "")
	}
	if err != nil {
		return fmt.Errorf("preparing to score: %w", err)
	}
	return nil
}

// outOfPatience says whether the best score is Patience epochs old, on the rank that scores. Other
// ranks know no score since the checkpoint.
func (t *Trainer) outOfPatience() bool {
	return !t.Options.Follows() && t.Options.Patience > 0 && t.best.Epoch > 0 && t.step/t.epochSteps()-t.best.Epoch >= t.Options.Patience
}
