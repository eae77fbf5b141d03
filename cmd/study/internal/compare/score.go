package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/picture"
)

// Row is what one method reaches for one class of one image. Figures are NaN where they are not
// defined.
type Row struct {
	Passes []score.Values
	Mask   []float64   // Dice of the last pass with each rater's mark
	Heads  [][]float64 // Dice of each rater's head with each rater's mark; nil for no head
	Empty  bool        // reference and marks are

	stated float64 // the Dice that the last map expects of itself

	// For keep, which drops them.
	diameters []int                // vertical, by pass
	pooled    *metrics.Calibration // of the band
	outline   [][]picture.Point
}

// Last are the figures of the last pass.
func (r *Row) Last() score.Values { return r.Passes[len(r.Passes)-1] }

// head is the Dice of a rater's own head; NaN without one.
func (r *Row) head(m int) float64 {
	if r.Heads == nil || r.Heads[m] == nil {
		return math.NaN()
	}
	return r.Heads[m][m]
}

// Image is one image against one reference.
type Image struct {
	*subject
	Rows [][]*Row // by run and class; nil without a prediction or a reference
	Seen any      // what Watch said of it

	classes []*reference // nil without a reference
}

// reference is what the maps of a class are compared with, and what stays of it.
type reference struct {
	*score.Target
	diameter int // vertical
	outline  [][]picture.Point
}

// Side is everything against one reference, in the order of the images.
type Side struct {
	Images   []*Image
	Unmarked []int                    // by class: images without a reference
	Pooled   [][]*metrics.Calibration // by method and class, over its runs: of the band

	reference string // mean, truth or rater:NAME
	rater     int    // of the reference; -1 for the others
	galleries *galleries
}

// Comparer scores methods on the images of a data set.
type Comparer struct {
	Request
	Sides []*Side // by reference

	data     *dataset.Dataset
	cases    []dataset.Case
	methods  []*method // every run
	groups   []group
	units    []int // by case: the number of its unit, such as the patient
	progress *command.Progress
	troubles []trouble  // in the order of the images
	atOnce   int        // images
	large    sync.Mutex // held while a large image is scored: a single one is in memory
}

const (
	// largePixels is the size above which one image at a time is scored.
	largePixels = 2_000_000
	// garbage is the memory that may lie idle before it is collected, in percent of what is in use.
	// Maps of a large image come and go, each of tens of megabytes.
	garbage = 40
)

// scored is an image against all references.
type scored struct {
	*subject
	sides    []*Image // nil after a fault of the data set
	troubles []trouble
}

// scoreAll scores the images. Folders are read on all processors, networks take one image after
// another. An error of a network ends it, a bad file does not.
func (c *Comparer) scoreAll(ctx context.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	for _, s := range c.Sides {
		s.Unmarked = make([]int, len(c.data.Classes))
		for range c.groups {
			s.Pooled = append(s.Pooled, statistics.Tabulate(len(c.data.Classes), func(int) *metrics.Calibration { return metrics.NewCalibration(score.Bins) }))
		}
	}
	c.atOnce = runtime.GOMAXPROCS(0)
	for _, m := range c.methods {
		if _, computes := m.predictor.(*network); computes {
			c.atOnce = 1
		}
	}
	return dataset.InOrder(ctx, len(c.cases), c.atOnce, func(i int) (*scored, error) { return c.scoreCase(ctx, i) }, c.keep)
}

// showProgress names the image. If several images are scored in parallel, it is called when the
// image is stored, so that names appear in order.
func (c *Comparer) showProgress(s *subject) {
	c.progress.Begin()
	c.progress.Show("%s: scoring", s.Name)
}

// keep adds an image to what is kept, and frees what only the pictures need.
func (c *Comparer) keep(r *scored) error {
	if c.atOnce > 1 {
		c.showProgress(r.subject)
	}
	c.troubles = append(c.troubles, r.troubles...)
	for j, one := range r.sides {
		s := c.Sides[j]
		for k, ref := range one.classes {
			if ref == nil {
				s.Unmarked[k]++
			}
		}
		if err := s.galleries.offer(c, one); err != nil {
			c.troubles = append(c.troubles, trouble{Kind: ofTheData, Text: err.Error()})
		}
		for i, classes := range one.Rows {
			for k, row := range classes {
				if row != nil {
					s.Pooled[c.methods[i].group][k].Merge(row.pooled)
					row.pooled, row.outline, row.diameters = nil, nil, nil
				}
			}
		}
		one.classes, one.subject = nil, &subject{Case: dataset.Case{Name: r.Name, Folder: r.Folder, Group: r.Group}, Unit: r.Unit}
		s.Images = append(s.Images, one)
	}
	return nil
}

// scoreCase scores an image map by map. The error is one of a network or of the context.
func (c *Comparer) scoreCase(ctx context.Context, i int) (*scored, error) {
	s := newSubject(c.cases[i])
	s.Unit = statistics.Unit(1 + c.units[i])
	if c.atOnce == 1 {
		c.showProgress(s)
	}
	if s.W*s.H > largePixels {
		c.large.Lock()
		defer c.large.Unlock()
	}
	r := &scored{subject: s}
	refs, err := c.references(s)
	if err != nil {
		r.troubles = []trouble{{Kind: ofTheData, Text: err.Error()}}
		return r, nil
	}
	var predictions []prediction
	for _, m := range c.methods {
		p, err := m.predict(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.Image, m.label(), err)
		}
		predictions = append(predictions, p)
	}
	for j := range c.Sides {
		one := &Image{subject: s, Seen: s.seen, classes: refs[j], Rows: statistics.Tabulate(len(c.methods), func(int) []*Row { return make([]*Row, len(c.data.Classes)) })}
		r.sides = append(r.sides, one)
	}
	for k := range c.data.Classes {
		if !slices.ContainsFunc(refs, func(of []*reference) bool { return of[k] != nil }) {
			continue
		}
		last, failed := make([][]float32, len(predictions)), make([]error, len(predictions))
		for i, p := range predictions {
			last[i], failed[i] = p.pass(c.methods[i].Passes-1, k)
		}
		band := score.Band(last...)
		for i, p := range predictions {
			err := failed[i]
			if last[i] != nil {
				err = c.scoreClass(r, p, i, k, last[i], band)
			}
			if err != nil {
				bad, _ := errors.AsType[*trouble](err)
				r.troubles = append(r.troubles, trouble{c.methods[i].label(), bad.Kind, bad.Text})
			}
		}
	}
	for _, one := range r.sides {
		c.compareRatios(one)
	}
	return r, nil
}

// references are those of an image by side and class; nil for a class without one.
func (c *Comparer) references(s *subject) (refs [][]*reference, err error) {
	l, err := s.load(c.Watch != nil)
	if err != nil {
		return nil, err
	}
	for _, side := range c.Sides {
		row := make([]*reference, len(c.data.Classes))
		for k, class := range c.data.Classes {
			var mask []uint8
			switch {
			case side.rater >= 0:
				mask = l.Masks[side.rater][k]
			case side.reference == Truth:
				if mask, err = l.Case.Truth(class); err != nil {
					return nil, err
				}
			}
			if mask == nil && side.reference != Mean {
				continue
			}
			if t := score.TargetOf(l, k, mask); t != nil {
				row[k] = &reference{t, metric.VerticalDiameter(t.Majority, s.W, s.H), picture.NewPlacing(s.W, s.H).Trace(t.Votes.Mean(), s.W, s.H, 0, 0)}
			}
		}
		refs = append(refs, row)
	}
	return refs, nil
}

// scoreClass scores the maps of run i for class k, of which the last is given, against all
// references. There are no rows if a map is bad. The error is a *trouble.
func (c *Comparer) scoreClass(r *scored, p prediction, i, k int, final []float32, band []uint8) error {
	sides := statistics.Filter(r.sides, func(one *Image) bool { return one.classes[k] != nil })
	rows := make([]*Row, len(sides))
	for j, one := range sides {
		rows[j] = &Row{Empty: one.classes[k].Empty()}
	}
	var heads heads
	var drawn []metrics.Bits
	var trouble error
	for pass := range c.methods[i].Passes {
		values, last := final, pass == c.methods[i].Passes-1
		if !last {
			if values, trouble = p.pass(pass, k); values == nil {
				return trouble
			}
		} else {
			heads, trouble = c.heads(p, sides[0].classes[k].Marks, k)
			drawn = c.draw(p, i, k, heads.has, final)
		}
		for j, one := range sides {
			ref, row := one.classes[k], rows[j]
			var set []metrics.Bits
			if last && heads.complete && !c.data.Levels {
				set = heads.masks
			}
			scored := ref.Of(values, set, drawn, band)
			row.Passes = append(row.Passes, scored.Values())
			row.diameters = append(row.diameters, metric.VerticalDiameter(values, r.W, r.H))
			if last {
				row.pooled, row.stated, row.outline = scored.Band, statedDice(values), picture.NewPlacing(r.W, r.H).Trace(values, r.W, r.H, 0, 0)
				if row.Mask = ref.Dices(metrics.Pack(values)); !c.methods[i].set {
					row.Heads = heads.dices(ref.Target)
				}
			}
		}
	}
	for j, one := range sides {
		one.Rows[i][k] = rows[j]
	}
	return trouble
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

// heads are the raters' maps above one half.
type heads struct {
	masks    []metrics.Bits
	has      []bool // by rater
	complete bool   // whoever marked has one
}

// heads reads the maps of raters. The error is the first *trouble of a rater with a mark; there are
// no heads then.
func (c *Comparer) heads(p prediction, marks [][]uint8, k int) (h heads, err error) {
	h = heads{make([]metrics.Bits, len(marks)), make([]bool, len(marks)), true}
	for m, mark := range marks {
		values, err := p.head(m, k)
		switch {
		case values != nil:
			h.masks[m], h.has[m] = metrics.Pack(values), true
		case mark == nil:
		case err != nil:
			return heads{}, err
		default:
			h.complete = false
		}
	}
	return h, nil
}

// draw draws c.Draws possible masks of class k, as run i sees them: its own draws, or what lies above
// evenly spaced levels of the maps of the raters who have one, or of its mask where nobody has. nil:
// none are asked for.
func (c *Comparer) draw(p prediction, i, k int, has []bool, mask []float32) (drawn []metrics.Bits) {
	var heads []int
	for m, has := range has {
		if has && !c.methods[i].draws && !c.data.Levels {
			heads = append(heads, m)
		}
	}
	for n := 0; n < c.Draws && c.methods[i].draws; n++ {
		heads = append(heads, len(has)+n)
	}
	at := -1
	for n := range c.Draws {
		whole, level := math.Modf((float64(n) + .5) / float64(c.Draws) * float64(max(1, len(heads))))
		if len(heads) > 0 && int(whole) != at {
			at = int(whole)
			if mask, _ = p.head(heads[at], k); mask == nil {
				return nil
			}
		}
		drawn = append(drawn, above(mask, level))
	}
	return drawn
}

// dices are the Dice of each head with each rater's mark; nil without any head of a rater.
func (h heads) dices(t *score.Target) (rows [][]float64) {
	for m, has := range h.has {
		if has {
			if rows == nil {
				rows = make([][]float64, len(h.has))
			}
			rows[m] = t.Dices(h.masks[m])
		}
	}
	return rows
}

// compareRatios adds the error of the vertical cup-to-disc ratio to the cup's figures. A disc or
// cup that a method did not find counts as a ratio of 0.
func (c *Comparer) compareRatios(r *Image) {
	disc, cup := metric.DiscAndCup(c.data.Classes)
	if disc < 0 || cup < 0 || r.classes[disc] == nil || r.classes[cup] == nil || r.classes[disc].diameter == 0 {
		return
	}
	right := metric.DiameterRatio(r.classes[disc].diameter, r.classes[cup].diameter)
	for _, classes := range r.Rows {
		if classes[disc] == nil || classes[cup] == nil {
			continue
		}
		for i := range classes[cup].Passes {
			classes[cup].Passes[i][score.RatioError] = math.Abs(metric.DiameterRatio(classes[disc].diameters[i], classes[cup].diameters[i]) - right)
		}
	}
}

// above is the mask of a map's pixels above a level.
func above(p []float32, level float64) metrics.Bits {
	mask := make([]uint8, len(p))
	for i, v := range p {
		if float64(v) > level {
			mask[i] = 1
		}
	}
	return metrics.Pack(mask)
}
