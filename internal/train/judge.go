package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/internal/segment/doubt"
	"mrprism/weights"
)

// Judgement compares the model of a run with another one, such as that it began from, on images
// that the run has not seen.
type Judgement struct {
	With   string   `json:"with"` // the other model
	Images []Judged `json:"images"`
	Groups int      `json:"groups"`          // such as patients: each counts once in the intervals
	Folds  int      `json:"folds,omitempty"` // runs that scored the images, each those that it had set aside; 0: the run itself did
	// Mean soft Dice with the raters' mean vote, and its gain. Before and Gain are nil if the other
	// model has other classes.
	Before *metric.Interval `json:"before,omitempty"`
	After  *metric.Interval `json:"after"`
	Gain   *metric.Interval `json:"gain,omitempty"`
	Better bool             `json:"better"` // the gain's interval is above 0
	// Own is the gain in Dice of each rater's own guess with the rater's own mark, over that of the
	// model before, which knew none of them: its mask. Nil as Gain is, and without raters.
	Own    *metric.Interval `json:"own,omitempty"`
	Errors *doubt.Report    `json:"errors,omitempty"` // what folds taught of the model's errors; nil: there are no folds
	Says   string           `json:"says"`
}

// Judged is an image, with the soft Dice of the model before and after, the mean over its classes.
type Judged struct {
	Name   string   `json:"name"`
	Group  int      `json:"group"`
	Before *float64 `json:"before,omitempty"`
	After  float64  `json:"after"`
	Own    *float64 `json:"own,omitempty"` // as in Judgement
}

// figures are how a model did on an image: the mean soft Dice of its masks, and the mean Dice with
// each rater's mark of what it guesses of that rater. NaN where nobody marked anything.
type figures struct{ mask, own float64 }

// fewGroups are too few for a verdict: even if all of 4 pairs are better, chance does that in one
// case of 16.
const fewGroups = 5

// Judge scores the exported model in the file result and another one, a file or one that ships, on
// the images set aside by -fold or -validate, or else on those held out.
func (t *Trainer) Judge(ctx context.Context, result, other string) (*Judgement, error) {
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
	after, err := t.scores(ctx, result, images, true)
	if err != nil {
		return nil, err
	}
	before, err := t.scores(ctx, other, images, false)
	if err != nil {
		return nil, err
	}
	j := judged(cases, before, after)
	j.With = other
	return j, nil
}

// judged makes the judgement of scores by image; before is nil without a model of the same classes.
func judged(cases []dataset.Case, before, after []figures) *Judgement {
	j := &Judgement{}
	units := dataset.Units(cases)
	for i, c := range cases {
		if math.IsNaN(after[i].mask) { // nobody marked it
			continue
		}
		one := Judged{Name: c.Folder + "/" + c.Name, Group: units[i], After: after[i].mask}
		if before != nil {
			one.Before = &before[i].mask
		}
		if before != nil && !math.IsNaN(after[i].own-before[i].own) {
			own := after[i].own - before[i].own
			one.Own = &own
		}
		j.Images = append(j.Images, one)
	}
	j.sum()
	return j
}

// Pool joins the judgements of the runs of a cross-validation, each of other images and groups.
func Pool(folds []*Judgement) *Judgement {
	j := &Judgement{With: folds[0].With, Folds: len(folds)}
	for _, f := range folds {
		first := 0 // group of this fold
		for _, one := range j.Images {
			first = max(first, one.Group+1)
		}
		for _, one := range f.Images {
			one.Group += first
			j.Images = append(j.Images, one)
		}
	}
	j.sum()
	return j
}

// sum takes the means over images and groups.
func (j *Judgement) sum() {
	type group struct{ before, after, gain, own []float64 }
	groups := map[int]*group{}
	for _, one := range j.Images {
		g := groups[one.Group]
		if g == nil {
			g = &group{}
			groups[one.Group] = g
		}
		g.after = append(g.after, one.After)
		if one.Before != nil {
			g.before, g.gain = append(g.before, *one.Before), append(g.gain, one.After-*one.Before)
		}
		if one.Own != nil {
			g.own = append(g.own, *one.Own)
		}
	}
	ordered := slices.Sorted(maps.Keys(groups))
	means := func(of func(g *group) []float64) *metric.Interval {
		return statistics.Interval(statistics.Values(statistics.Tabulate(len(ordered), func(i int) []float64 { return of(groups[ordered[i]]) }), metric.Mean))
	}
	j.Groups = len(ordered)
	j.Before, j.After = means(func(g *group) []float64 { return g.before }), means(func(g *group) []float64 { return g.after })
	j.Gain, j.Own = means(func(g *group) []float64 { return g.gain }), means(func(g *group) []float64 { return g.own })
	j.Better = j.Gain != nil && j.Groups >= fewGroups && *j.Gain.Low > 0
	j.Says = j.verdict()
}

// verdict is the judgement in words.
func (j *Judgement) verdict() string {
	apart := "images that were held out"
	if j.Folds > 0 {
		apart = fmt.Sprintf("images, each by the one of %d runs that had not seen it", j.Folds)
	}
	switch {
	case j.After == nil:
		return "nothing was held out: nobody knows how good this model is"
	case j.Gain == nil:
		return fmt.Sprintf("soft Dice %.3f on %d %s; the other model has other classes, and cannot be compared", j.After.Mean, len(j.Images), apart)
	}
	said := fmt.Sprintf("soft Dice %.3f before and %.3f after, on %d %s", j.Before.Mean, j.After.Mean, len(j.Images), apart)
	if j.Own != nil {
		said += fmt.Sprintf("; Dice of each rater's own outline %+.3f", j.Own.Mean)
	}
	switch {
	case j.Groups < fewGroups:
		return fmt.Sprintf("%s: too few to tell whether this model is better", said)
	case j.Better:
		return fmt.Sprintf("%s: better by %.3f (95 %% interval %.3f to %.3f)", said, j.Gain.Mean, *j.Gain.Low, *j.Gain.High)
	}
	return fmt.Sprintf("%s: this model is not better (gain %.3f, 95 %% interval %.3f to %.3f)", said, j.Gain.Mean, *j.Gain.Low, *j.Gain.High)
}

// scores are those of a model; nil if it has other classes. heads says that its raters are the data
// set's; otherwise its mask stands for each of them.
func (t *Trainer) scores(ctx context.Context, model string, images []*dataset.Loaded, heads bool) ([]figures, error) {
	m, err := weights.Load(model)
	if err != nil || !slices.Equal(m.Metadata.Classes, t.Dataset.Classes) {
		return nil, err
	}
	engine, err := segment.New(ctx, t.device, m, "")
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	heads = heads && segment.HasHeads(&m.Metadata)
	all := make([]figures, len(images))
	for i, l := range images {
		result, err := engine.Segment(ctx, l.Image, segment.Options{Recurrences: segment.Feedbacks(&m.Metadata)})
		if err != nil {
			return nil, fmt.Errorf("scoring %s/%s: %w", l.Folder, l.Name, err)
		}
		var masks, own []float64
		for k := range t.Dataset.Classes {
			if votes, ok := l.Votes(k); ok {
				masks = append(masks, metric.SoftDice(result.Probability(k), votes))
			}
			for r, mark := range l.ByRater(k) {
				guess := result.Probability(k)
				if heads {
					guess = result.Rater(r, k)
				}
				if mark != nil && !t.Dataset.Levels {
					own = append(own, metric.Dice(guess, mark))
				}
			}
		}
		all[i] = figures{metric.Mean(masks), metric.Mean(own)}
	}
	return all, nil
}
