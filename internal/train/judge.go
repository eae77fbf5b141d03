package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

// Judgement compares the model of a run with the model that it began from, on images that the run
// has not seen.
type Judgement struct {
	Images []Judged `json:"images"`
	Groups int      `json:"groups"` // such as patients: each counts once in the intervals
	// Mean soft Dice with the raters' mean vote, and its gain. Before and Gain are nil without a model
	// of the same classes to begin from.
	Before *metric.Interval `json:"before,omitempty"`
	After  *metric.Interval `json:"after"`
	Gain   *metric.Interval `json:"gain,omitempty"`
	Better bool             `json:"better"` // the gain's interval is above 0
	Says   string           `json:"says"`
}

// Judged is an image, with the soft Dice of the model before and after, the mean over its classes.
type Judged struct {
	Name   string   `json:"name"`
	Group  int      `json:"group"`
	Before *float64 `json:"before,omitempty"`
	After  float64  `json:"after"`
}

// fewGroups are too few for a verdict: even if all of 4 pairs are better, chance does that in one
// case of 16.
const fewGroups = 5

// Judge scores the exported model in the file result, and Options.Init, on the images set aside by
// -fold or -validate, or else on those held out.
func (t *Trainer) Judge(ctx context.Context, result string) (*Judgement, error) {
	images := t.aside
	if !t.Options.validates() {
		var left dataset.Problems
		var err error
		if images, left, err = dataset.LoadSound(ctx, t.Dataset.HeldOut(), func(int, int) {}); err == nil {
			images, err = sound(t.Options, images, left, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	cases := make([]dataset.Case, len(images))
	for i, l := range images {
		cases[i] = l.Case
	}
	after, err := t.scores(ctx, result, images)
	if err != nil {
		return nil, err
	}
	var before []float64
	if t.Options.Init != "" && t.Options.Names == "" {
		if before, err = t.scores(ctx, t.Options.Init, images); err != nil {
			return nil, err
		}
	}
	return judged(cases, before, after), nil
}

// judged makes the judgement of scores by image; before is nil without a model to compare with.
func judged(cases []dataset.Case, before, after []float64) *Judgement {
	j := &Judgement{}
	units := dataset.Units(cases)
	byUnit := make([]struct{ before, after []float64 }, len(cases))
	for i, c := range cases {
		if math.IsNaN(after[i]) { // nobody marked it
			continue
		}
		one, unit := Judged{Name: c.Folder + "/" + c.Name, Group: units[i], After: after[i]}, &byUnit[units[i]]
		unit.after = append(unit.after, after[i])
		if before != nil {
			one.Before = &before[i]
			unit.before = append(unit.before, before[i])
		}
		j.Images = append(j.Images, one)
	}
	var first, last, gain []float64
	for _, u := range byUnit {
		if len(u.after) == 0 {
			continue
		}
		last = append(last, metric.Mean(u.after))
		if before != nil {
			first = append(first, metric.Mean(u.before))
			gain = append(gain, metric.Mean(u.after)-metric.Mean(u.before))
		}
	}
	j.Groups, j.Before, j.After, j.Gain = len(last), statistics.Interval(first), statistics.Interval(last), statistics.Interval(gain)
	j.Better = j.Gain != nil && j.Groups >= fewGroups && *j.Gain.Low > 0
	j.Says = j.verdict()
	return j
}

// verdict is the judgement in words.
func (j *Judgement) verdict() string {
	switch {
	case j.After == nil:
		return "nothing was held out: nobody knows how good this model is"
	case j.Gain == nil:
		return fmt.Sprintf("soft Dice %.3f on %d images that were held out; there is no model to compare with", j.After.Mean, len(j.Images))
	}
	said := fmt.Sprintf("soft Dice %.3f before and %.3f after, on %d images that were held out", j.Before.Mean, j.After.Mean, len(j.Images))
	switch {
	case j.Groups < fewGroups:
		return fmt.Sprintf("%s: too few to tell whether this model is better than the one that it began from", said)
	case j.Better:
		return fmt.Sprintf("%s: better by %.3f (95 %% interval %.3f to %.3f)", said, j.Gain.Mean, *j.Gain.Low, *j.Gain.High)
	}
	return fmt.Sprintf("%s: this model is not better than the one that it began from (gain %.3f, 95 %% interval %.3f to %.3f)", said, j.Gain.Mean, *j.Gain.Low, *j.Gain.High)
}

// scores are the mean soft Dice of a model over the classes of each image; NaN where nobody marked a
// class. They are nil if the model has other classes.
func (t *Trainer) scores(ctx context.Context, model string, images []*dataset.Loaded) ([]float64, error) {
	m, err := command.Weights(model)
	if err != nil || !slices.Equal(m.Metadata.Classes, t.Dataset.Classes) {
		return nil, err
	}
	engine, err := segment.New(ctx, t.device, m, "")
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	means := make([]float64, len(images))
	for i, l := range images {
		result, err := engine.Segment(ctx, l.Image, segment.Options{Recurrences: segment.Feedbacks(&m.Metadata)})
		if err != nil {
			return nil, fmt.Errorf("scoring %s/%s: %w", l.Folder, l.Name, err)
		}
		var values []float64
		for k := range t.Dataset.Classes {
			if target := score.TargetOf(l, k, nil); target != nil {
				values = append(values, target.SoftDice(result.Probability(k)))
			}
		}
		means[i] = metric.Mean(values)
	}
	return means, nil
}
