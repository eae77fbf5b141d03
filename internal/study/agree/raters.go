package agree

import (
	"math"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
)

// comparedImage is an image with its masks and its figures.
type comparedImage struct {
	dataset.Case
	marks   [][][]uint8   // (K, M); nil for a missing mask
	classes []*comparison // by class; nil if fewer than two raters marked it
	ratios  *ratios       // nil unless two or more marked disc and cup
	faults  dataset.Problems
}

// comparison is the raters of an image beside each other. Figures are NaN where they are not
// defined, and Dice also for agreement levels.
type comparison struct {
	statistics.Unit
	image        string
	raters       int
	pairs        [][]float64     // Dice by rater and earlier rater; nil for levels
	areas        []float64       // by rater: share of the image
	counts       []fusion.Counts // by rater, beside the STAPLE map; nil for levels
	dice         float64         // mean over the pairs of raters
	least        float64         // of a pair
	a, b         int             // that pair
	union, whole float64         // Fleiss' kappa inside the union of the marks, and over the whole image
	coincidences metric.Coincidences
	consensus    float64 // pixels that all marked over pixels that anybody marked
}

// rank puts the image first whose raters agree least: by the mean Dice of their pairs, and of
// agreement levels by the consensus.
func (c *comparison) rank() report.Rank {
	if math.IsNaN(c.dice) {
		return report.Rank{Figure: -c.consensus}
	}
	return report.Rank{Figure: -c.dice}
}

// look reads the masks of an image and compares them.
func (s *study) look(i int) *comparedImage {
	c := s.data.Cases[i]
	l := &comparedImage{Case: c, marks: make([][][]uint8, len(s.data.Classes)), classes: make([]*comparison, len(s.data.Classes))}
	for k := range l.marks {
		l.marks[k] = make([][]uint8, len(c.Masks))
		for m, paths := range c.Masks {
			if paths[k] == "" {
				continue
			}
			var err error
			if l.marks[k][m], err = c.Mask(paths[k]); err != nil {
				l.faults = append(l.faults, err.Error())
			}
		}
	}
	if len(l.faults) > 0 {
		return l
	}
	for k, marks := range l.marks {
		given := statistics.Filter(marks, func(m []uint8) bool { return m != nil })
		if len(given) > 1 && (!s.data.Levels || len(given) == len(marks)) {
			l.classes[k] = compare(c.Name, marks, metric.PatternsOf(given...), s.data.Levels)
			l.classes[k].Unit = statistics.Unit(1 + s.units[i])
		}
	}
	l.ratios = s.verticalRatios(l, statistics.Unit(1+s.units[i]))
	return l
}

// compare compares the marks of a structure, of which at least two are given. given are the
// patterns of these.
func compare(image string, marks [][]uint8, given metric.Patterns, levels bool) *comparison {
	tally := given.Tally()
	union := tally.Union()
	c := &comparison{image: image, raters: len(tally) - 1, dice: math.NaN(), least: math.NaN()}
	c.coincidences.Add(tally)
	c.union, c.whole = union.FleissKappa(), tally.FleissKappa()
	c.consensus = float64(tally[c.raters]) / float64(union.Pixels()) // NaN if nothing is marked
	at := make([]int, len(marks))                                    // of a rater in given; -1 without a mark
	next := 0
	for m, mark := range marks {
		at[m] = -1
		area := math.NaN()
		if mark != nil {
			at[m] = next
			area = float64(given.Area(next)) / float64(len(mark))
			next++
		}
		c.areas = append(c.areas, area)
	}
	if !levels {
		c.people(at, given)
	}
	return c
}

// people compares each rater with each other and with the STAPLE map.
func (c *comparison) people(at []int, given metric.Patterns) {
	var values []float64
	beside := fusion.BesideSTAPLE(given)
	c.counts = make([]fusion.Counts, len(at))
	for b, second := range at {
		row := make([]float64, b)
		for a, first := range at[:b] {
			if row[a] = math.NaN(); first < 0 || second < 0 {
				continue
			}
			row[a] = given.Dice(first, second)
			if values = append(values, row[a]); !(row[a] >= c.least) {
				c.least, c.a, c.b = row[a], a, b
			}
		}
		c.pairs = append(c.pairs, row)
		if second >= 0 {
			c.counts[b] = beside[second]
		}
	}
	c.dice = metric.Mean(values)
}

// ratios are the raters' vertical cup/disc ratios in an image; NaN without a cup or a disc.
type ratios struct {
	statistics.Unit
	of []float64
}

// less is the ratio of rater b less that of rater a.
func less(a, b int) func(*ratios) float64 {
	return func(r *ratios) float64 { return r.of[b] - r.of[a] }
}

// verticalRatios are those of an image. They are nil without the structures, for agreement levels,
// and unless two raters have marked a disc and a cup.
func (s *study) verticalRatios(l *comparedImage, unit statistics.Unit) *ratios {
	disc, cup := segment.DiscAndCup(s.data.Classes)
	if disc < 0 || cup < 0 || s.data.Levels {
		return nil
	}
	r, has := &ratios{Unit: unit}, 0
	for m, outer := range l.marks[disc] {
		inner := l.marks[cup][m]
		if outer == nil || inner == nil || metric.Area(outer) == 0 {
			r.of = append(r.of, math.NaN())
			continue
		}
		r.of = append(r.of, metric.VerticalRatio(outer, inner, l.W, l.H))
		has++
	}
	if has < 2 {
		return nil
	}
	return r
}
