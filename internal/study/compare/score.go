package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

// record is what one method reaches for one class of one image. Figures are NaN where they are not
// defined.
type record struct {
	passes      []score.Figures
	mask, heads []float64 // Dice of the last pass, and of a rater's own head, with the rater's mark
	stated      float64   // the Dice that the last map expects of itself
	empty       bool      // reference and marks are

	// For keep, which drops them.
	diameters []int // vertical, by pass
	union     *metric.Calibration
	outline   [][]picture.Point
}

// caseRecord is one image.
type caseRecord struct {
	*subject
	methods  [][]*record  // by method and class; nil without a prediction or a reference
	classes  []*reference // nil without a reference
	troubles []trouble
}

// reference is what the maps of a class are compared with, and what stays of it.
type reference struct {
	*score.Target
	diameter int // vertical
	outline  [][]picture.Point
}

// Comparer scores methods on the images of a data set.
type Comparer struct {
	Request
	data     *dataset.Dataset
	cases    []dataset.Case
	rater    int // of the reference; -1 for the others
	methods  []*method
	progress *command.Progress

	large sync.Mutex // held while a large image is scored: a single one is in memory

	// All in the order of the images.
	records   []*caseRecord
	unmarked  []int // by class: images without a reference
	troubles  []trouble
	diagrams  [][]*metric.Calibration // by method and class, inside the union
	galleries galleries
}

// largePixels is the size above which one image at a time is scored.
const largePixels = 2_000_000

// scoreAll scores the images. Folders are read on all processors, networks take one image after
// another. An error of a network ends it, a bad file does not.
func (c *Comparer) scoreAll(ctx context.Context) error {
	c.unmarked = make([]int, len(c.data.Classes))
	for range c.methods {
		c.diagrams = append(c.diagrams, statistics.Tabulate(len(c.data.Classes), func(int) *metric.Calibration { return metric.NewCalibration(score.Bins) }))
	}
	atOnce := runtime.GOMAXPROCS(0)
	for _, m := range c.methods {
		if _, computes := m.predictor.(*network); computes {
			atOnce = 1
		}
	}
	return score.InOrder(ctx, len(c.cases), atOnce, func(i int) (*caseRecord, error) { return c.scoreCase(ctx, i) }, c.keep)
}

// keep adds an image to what is kept, and frees what only the pictures need.
func (c *Comparer) keep(r *caseRecord) error {
	c.progress.Begin()
	c.progress.Show("%s", r.Name)
	c.troubles = append(c.troubles, r.troubles...)
	if r.methods == nil {
		return nil // a fault of the data set
	}
	for k, s := range r.classes {
		if s == nil {
			c.unmarked[k]++
		}
	}
	c.galleries.offer(c, r)
	for i, classes := range r.methods {
		for k, one := range classes {
			if one != nil {
				c.diagrams[i][k].Merge(one.union)
				one.union, one.outline, one.diameters = nil, nil, nil
			}
		}
	}
	r.classes, r.subject = nil, &subject{Case: dataset.Case{Name: r.Name, Folder: r.Folder}}
	c.records = append(c.records, r)
	return nil
}

// scoreCase scores an image map by map. The error is one of a network or of the context.
func (c *Comparer) scoreCase(ctx context.Context, i int) (*caseRecord, error) {
	s := newSubject(c.cases[i])
	if s.W*s.H > largePixels {
		c.large.Lock()
		defer c.large.Unlock()
	}
	r := &caseRecord{subject: s}
	var predictions []prediction
	for _, m := range c.methods {
		p, err := m.predict(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.Image, m.Name, err)
		}
		predictions = append(predictions, p)
	}
	methods := statistics.Tabulate(len(c.methods), func(int) []*record { return make([]*record, len(c.data.Classes)) })
	for k := range c.data.Classes {
		target, err := c.target(s, k)
		if err != nil {
			r.troubles = []trouble{{Kind: ofTheData, Text: err.Error()}}
			return r, nil
		}
		if r.classes = append(r.classes, target); target == nil {
			continue
		}
		for j, p := range predictions {
			one, err := c.scoreClass(s, target, p, c.methods[j].Passes, k)
			if bad, ok := errors.AsType[*trouble](err); ok {
				r.troubles = append(r.troubles, trouble{c.methods[j].Name, bad.Kind, bad.Text})
			}
			methods[j][k] = one
		}
		target.Target = nil // the outline and the diameter stay
	}
	r.methods = methods
	c.compareRatios(r)
	return r, nil
}

// target reads the marks and the reference of a class; nil without a reference.
func (c *Comparer) target(s *subject, k int) (*reference, error) {
	l := &dataset.Loaded{Case: s.Case}
	for _, paths := range s.Masks {
		row := make([][]uint8, len(paths))
		if paths[k] != "" {
			mark, err := s.Mask(paths[k])
			if err != nil {
				return nil, err
			}
			row[k] = mark
		}
		l.Masks = append(l.Masks, row)
	}
	var mask []uint8
	if c.Request.Reference != "mean" {
		var err error
		if mask, err = c.referenceMask(l, k); mask == nil {
			return nil, err
		}
	}
	t := score.TargetOf(l, k, mask)
	if t == nil {
		return nil, nil
	}
	return &reference{t, metric.VerticalDiameter(t.Majority, s.W, s.H), picture.NewPlacing(s.W, s.H).Trace(t.Votes.Mean(), s.W, s.H, 0, 0)}, nil
}

// referenceMask is the truth or a rater's mark; nil if there is none.
func (c *Comparer) referenceMask(l *dataset.Loaded, k int) ([]uint8, error) {
	if c.rater >= 0 {
		return l.Masks[c.rater][k], nil
	}
	return score.ReadTruth(l.Case, c.data.Classes[k])
}

// scoreClass scores the maps of a method; nil if it has none. The error is a *trouble.
func (c *Comparer) scoreClass(s *subject, ref *reference, p prediction, passes, k int) (*record, error) {
	r := &record{empty: ref.Empty()}
	for i := range passes {
		values, err := p.pass(i, k)
		if values == nil {
			return nil, err
		}
		r.union = metric.NewCalibration(score.Bins)
		r.passes = append(r.passes, ref.Of(values, r.union))
		r.diameters = append(r.diameters, metric.VerticalDiameter(values, s.W, s.H))
		if i == passes-1 {
			r.stated, r.outline = statedDice(values), picture.NewPlacing(s.W, s.H).Trace(values, s.W, s.H, 0, 0)
			r.mask = ref.Dices(metric.Pack(values))
		}
	}
	return r, c.scoreHeads(r, ref, p, k)
}

// statedDice is the Dice of the pixels above one half that a map expects if its probabilities are
// right: 2Σp inside / (pixels inside + Σp). A map of 0 is sure that there is nothing: 1.
func statedDice(p []float32) float64 {
	var inside, all, pixels float64
	for _, v := range p {
		if all += float64(v); v > .5 {
			inside += float64(v)
			pixels++
		}
	}
	if all == 0 {
		return 1
	}
	return 2 * inside / (pixels + all)
}

// scoreHeads compares the heads with their raters and, of named raters, both as sets. Heads without
// a mark do not count. The error is the first *trouble; there are no figures of heads then.
func (c *Comparer) scoreHeads(r *record, ref *reference, p prediction, k int) error {
	heads, own := make([]metric.Bits, len(ref.Marks)), make([]float64, len(ref.Marks))
	some, complete := false, true
	for m, mark := range ref.Marks {
		own[m] = math.NaN()
		if mark == nil {
			continue
		}
		values, err := p.head(m, k)
		if err != nil {
			return err
		}
		if values == nil {
			complete = false
			continue
		}
		heads[m], some = metric.Pack(values), true
		own[m] = ref.Dices(heads[m])[m]
	}
	if some {
		r.heads = own
	}
	if complete && !c.data.Levels {
		if set := ref.Set(heads); set != nil {
			last := &r.passes[len(r.passes)-1]
			last[score.Energy], last[score.DiceMax], last[score.DiceMatch] = set.Energy, set.Max, statistics.Number(set.Match)
		}
	}
	return nil
}

// compareRatios adds the error of the vertical cup-to-disc ratio to the cup's figures. A disc or
// cup that a method did not find counts as a ratio of 0.
func (c *Comparer) compareRatios(r *caseRecord) {
	disc, cup := segment.DiscAndCup(c.data.Classes)
	if disc < 0 || cup < 0 || r.classes[disc] == nil || r.classes[cup] == nil || r.classes[disc].diameter == 0 {
		return
	}
	right := metric.DiameterRatio(r.classes[disc].diameter, r.classes[cup].diameter)
	for _, classes := range r.methods {
		if classes[disc] == nil || classes[cup] == nil {
			continue
		}
		for i := range classes[cup].passes {
			classes[cup].passes[i][score.RatioError] = math.Abs(metric.DiameterRatio(classes[disc].diameters[i], classes[cup].diameters[i]) - right)
		}
	}
}
