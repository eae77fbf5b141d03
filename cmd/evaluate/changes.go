package main

import (
	"context"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// changes are the changes to images under -changed, in the order of the report.
var changes = []struct {
	name string
	to   func(*dataset.Loaded) *dataset.Loaded
}{
	{"blurred (Gaussian, 4 of 512 pixels)", look(func(l *dataset.Look) { l.Blur = 4. / 512 })},
	{"colours at 30 %", look(func(l *dataset.Look) { l.Saturation = .3 })},
	{"darker (exponent 1.8)", look(func(l *dataset.Look) { l.Gamma = 1.8 })},
	{"brighter (exponent 0.5)", look(func(l *dataset.Look) { l.Gamma = .5 })},
	{"bluish (red × 0.75, green × 0.95, blue × 1.3)", look(func(l *dataset.Look) { l.Channels = [3]float64{.75, .95, 1.3} })},
	{"from farther, off the middle (on black, 1.6 times as wide)", func(l *dataset.Loaded) *dataset.Loaded { return l.Farther(1.6) }},
	{"mirrored left-right", (*dataset.Loaded).Mirrored},
}

// look is a change that differs from an unchanged picture in what set sets.
func look(set func(*dataset.Look)) func(*dataset.Loaded) *dataset.Loaded {
	l := dataset.AsTaken
	set(&l)
	return func(from *dataset.Loaded) *dataset.Loaded { return from.With(l) }
}

// changedScore is one image under one change.
type changedScore struct {
	Change string `json:"change"`
	Found  bool   `json:"found"` // false: nothing was found, and an empty mask is scored
	// SoftDice: by class, of RecN against the mean vote; null for a class without marks
	SoftDice []*float64 `json:"softDice"`
}

// changeReport is one change over all images.
type changeReport struct {
	Change   string              `json:"change"`
	NotFound int                 `json:"notFound"`
	Classes  []changeClassReport `json:"classes"`
}

// changeClassReport is null in both figures for a class without marks.
type changeClassReport struct {
	Class      string           `json:"class"`
	SoftDice   *metric.Interval `json:"softDice"`   // of RecN
	Difference *metric.Interval `json:"difference"` // less that of the unchanged image
}

// changes segments a case under every change.
func (s *scorer) changes(ctx context.Context, l *dataset.Loaded) (scores []changedScore, err error) {
	for _, c := range changes {
		s.progress.Begin()
		s.progress.Show("%s: %s", l.Name, c.name)
		changed := c.to(l)
		masks, found, err := s.masks(ctx, &s.session, changed, s.recurrences)
		if err != nil {
			return nil, err
		}
		score := changedScore{c.name, found, make([]*float64, len(masks))}
		for k, mask := range masks {
			if votes, ok := changed.Votes(k); ok {
				score.SoftDice[k] = new(metric.SoftDice(mask, votes))
			}
		}
		scores = append(scores, score)
	}
	return scores, nil
}

// changeReports gathers the changes over all cases.
func (s *scorer) changeReports() (out []changeReport) {
	for i, change := range changes {
		r := changeReport{Change: change.name, NotFound: len(filter(s.cases, func(c *caseScore) bool { return !c.Changed[i].Found }))}
		for k, class := range s.data.Classes {
			marked := filter(s.cases, func(c *caseScore) bool { return c.Changed[i].SoftDice[k] != nil })
			dice := func(c *caseScore) float64 { return *c.Changed[i].SoftDice[k] }
			difference := func(c *caseScore) float64 { return dice(c) - c.Classes[k].SoftDice[s.recurrences] }
			r.Classes = append(r.Classes, changeClassReport{class, over(marked, dice), over(marked, difference)})
		}
		out = append(out, r)
	}
	return out
}

// changes prints a row for each change: the score of each class and the difference to the first
// row.
func (t *table) changes(r *report) {
	t.Title("Changed images: soft Dice ×100 of Rec%d, and the difference to the same images as they are", r.Recurrences)
	titles, first := []string{""}, []string{"as they are"}
	for _, c := range r.Classes {
		var unchanged *metric.Interval
		if c.Images > 0 {
			unchanged = c.SoftDice[r.Recurrences]
		}
		titles, first = append(titles, c.Class, "difference"), append(first, plain(unchanged, 100, 1), "")
	}
	t.Line("%s", strings.Join(titles, "\t"))
	t.Line("%s", strings.Join(first, "\t"))
	for _, change := range r.Changes {
		cells := []string{change.Change}
		for _, c := range change.Classes {
			cells = append(cells, plain(c.SoftDice, 100, 1), signed(c.Difference, 100, 1))
		}
		t.Line("%s", strings.Join(cells, "\t"))
	}
	t.Break()
	for _, change := range r.Changes {
		if change.NotFound > 0 {
			t.Line("%s: nothing was found in %d of them; they are scored as empty masks", change.Change, change.NotFound)
		}
	}
}
