package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/dataset"
	"mrprism/internal/metric"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// Fold is one of the runs of a cross-validation, Index 1 to Of: its images are set aside, and each image is in one fold. The zero value is none.
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

// validates reports whether images are set aside.
func (o Options) validates() bool { return o.Validate > 0 || o.Fold.Of > 0 }

// split parts the images of the training part into those to learn from and those set aside to score by, by name alone: neither the seed nor the
// order of the folders matters, and an image that is in two folders is in both on the same side. Names in sorted order go to the folds in turn.
func (o Options) split(cases []dataset.Case) (learn, aside []dataset.Case) {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	folds := dataset.Folds(cases, max(1, o.Fold.Of))
	for n, c := range cases {
		i, _ := slices.BinarySearch(names, c.Name)
		out := math.Floor(float64(i+1)*o.Validate) > math.Floor(float64(i)*o.Validate)
		if o.Fold.Of > 0 {
			out = folds[n] == o.Fold.Index-1
		}
		if out {
			aside = append(aside, c)
		} else {
			learn = append(learn, c)
		}
	}
	return learn, aside
}

// best is the score to beat. Checkpoints hold it.
type best struct {
	Score float64 // soft Dice
	Epoch int     // after which it was reached; 0: none was measured yet
}

// BestSuffix follows the name of the exported model that scored best.
const BestSuffix = ".best"

// recurrences is how many feedbacks the weights are scored with: none where none were learned.
func (t *Trainer) recurrences() int {
	return segment.Feedbacks(&weights.Metadata{Recipe: t.Options.Recipe.Name})
}

// scoresNow reports whether an epoch has ended after which the weights are scored: every so many,
// and the last.
func (t *Trainer) scoresNow() bool {
	every := t.epochSteps() * max(1, t.Options.ScoreEvery)
	return t.step%every == 0 || t.step == t.Steps()
}

// score measures the averaged weights on the images set aside, where an epoch to score after has
// ended, and exports them where none were better.
func (t *Trainer) score(ctx context.Context) (*float64, error) {
	if len(t.aside) == 0 || !t.scoresNow() {
		return nil, nil
	}
	file, err := t.averaged(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.load(ctx, file); err != nil {
		return nil, err
	}
	mean, count := 0.0, 0
	for _, c := range t.aside {
		result, err := t.engine.Segment(ctx, c.Image, segment.Options{Recurrences: t.recurrences()})
		if err != nil {
			return nil, fmt.Errorf("scoring %s/%s: %w", c.Folder, c.Name, err)
		}
		for k := range t.Dataset.Classes {
			votes, ok := c.Votes(k)
			if !ok {
				continue
			}
			mean += metric.SoftDice(result.Probability(k), votes, metric.DefaultSoftDice)
			count++
		}
	}
	mean /= float64(max(count, 1))
	if t.best.Epoch == 0 || mean > t.best.Score {
		t.best = best{mean, t.step / t.epochSteps()}
		if err := t.Options.export(file, BestSuffix); err != nil {
			return nil, fmt.Errorf("export: %w; %s", err, t.kept())
		}
	}
	return &mean, nil
}

// scorable reports whether anything can be scored by: votes of some class in some image.
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

// load hands weights to the engine that scores, which is made with the first.
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

// outOfPatience reports whether the best score is too many epochs ago.
func (t *Trainer) outOfPatience() bool {
	return t.Options.Patience > 0 && t.best.Epoch > 0 && t.step/t.epochSteps()-t.best.Epoch >= t.Options.Patience
}
