package main

import (
	"context"
	"strings"

	"mrprism/internal/dataset"
	"mrprism/internal/metric"
)

// changes are what is done to images under -changed, in the order of the report.
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

// look is the change to a picture that differs in what set sets.
func look(set func(*dataset.Look)) func(*dataset.Loaded) *dataset.Loaded {
	l := dataset.AsTaken
	set(&l)
	return func(from *dataset.Loaded) *dataset.Loaded { return from.With(l) }
}

// changedScore is one image under one change.
type changedScore struct {
	Change   string     `json:"change"`
	Found    bool       `json:"found"`    // false: the program found nothing, and an empty mask was scored
	SoftDice []*float64 `json:"softDice"` // by class, of the last recurrence against the mean vote; null where nobody has marked it
}

// changeReport is one change over all images, by class.
type changeReport struct {
	Change   string              `json:"change"`
	NotFound int                 `json:"notFound"`
	Classes  []changeClassReport `json:"classes"`
}

type changeClassReport struct {
	Class      string           `json:"class"`
	SoftDice   *metric.Interval `json:"softDice"`   // of the last recurrence; null where nobody has marked the class
	Difference *metric.Interval `json:"difference"` // less the same image's as it is
}

// changes segments a case under every change.
func (s *scorer) changes(ctx context.Context, l *dataset.Loaded) (scores []changedScore, err error) {
	for _, c := range changes {
		s.progress.Begin()
		s.progress.Show("%s: %s", l.Name, c.name)
		changed := c.to(l)
		masks, seen, err := s.masks(ctx, &s.session, changed, s.recurrences)
		if err != nil {
			return nil, err
		}
		score := changedScore{Change: c.name, Found: seen}
		for k, mask := range masks {
			var dice *float64
			if votes, ok := changed.Votes(k); ok {
				d := metric.SoftDice(mask, votes, metric.DefaultSoftDice)
				dice = &d
			}
			score.SoftDice = append(score.SoftDice, dice)
		}
		scores = append(scores, score)
	}
	return scores, nil
}

// changeReports gathers the changes over all cases.
func (s *scorer) changeReports() []changeReport {
	var out []changeReport
	for i, change := range changes {
		r := changeReport{Change: change.name}
		for _, c := range s.cases {
			if !c.Changed[i].Found {
				r.NotFound++
			}
		}
		for k, class := range s.data.Classes {
			var values, differences []float64
			for _, c := range s.cases {
				if d := c.Changed[i].SoftDice[k]; d != nil {
					values = append(values, *d)
					differences = append(differences, *d-c.Classes[k].SoftDice[s.recurrences])
				}
			}
			r.Classes = append(r.Classes, changeClassReport{class, interval(values), interval(differences)})
		}
		out = append(out, r)
	}
	return out
}

// changes prints a row a change, and for each class its score and the difference to the first row.
func (t *table) changes(r *report) {
	t.title("Changed images: soft Dice ×100 of Rec%d, and the difference to the same images as they are", r.Recurrences)
	titles, first := []string{""}, []string{"as they are"}
	for _, c := range r.Classes {
		titles = append(titles, c.Class, "difference")
		if c.Images == 0 {
			first = append(first, "–", "")
			continue
		}
		first = append(first, plain(c.SoftDice[r.Recurrences], 100, 1), "")
	}
	t.line("%s", strings.Join(titles, "\t"))
	t.line("%s", strings.Join(first, "\t"))
	for _, change := range r.Changes {
		cells := []string{change.Change}
		for _, c := range change.Classes {
			if c.SoftDice == nil {
				cells = append(cells, "–", "")
				continue
			}
			cells = append(cells, plain(*c.SoftDice, 100, 1), signed(*c.Difference, 100, 1))
		}
		t.line("%s", strings.Join(cells, "\t"))
	}
	t.flush()
	for _, change := range r.Changes {
		if change.NotFound > 0 {
			t.line("%s: nothing was found in %d of them; they are scored as empty masks", change.Change, change.NotFound)
		}
	}
}
