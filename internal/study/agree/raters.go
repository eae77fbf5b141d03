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
			l.classes[k] = compare(c.Name, marks, metric.Count(given...), s.data.Levels)
			l.classes[k].Unit = statistics.Unit(1 + s.units[i])
		}
	}
	l.ratios = s.verticalRatios(l, statistics.Unit(1+s.units[i]))
	return l
}

// compare compares the marks of a structure, of which at least two are given.
func compare(image string, marks [][]uint8, votes metric.Votes, levels bool) *comparison {
	c := &comparison{image: image, raters: votes.Raters, dice: math.NaN(), least: math.NaN()}
	union := votes.Union()
	c.coincidences.Add(votes)
	c.union, c.whole = metric.FleissKappa(votes, union), metric.FleissKappa(votes, nil)
	all := 0
	for _, n := range votes.Count {
		if int(n) == votes.Raters {
			all++
		}
	}
	c.consensus = float64(all) / float64(metric.Area(union)) // NaN if nothing is marked
	for _, mark := range marks {
		c.areas = append(c.areas, float64(metric.Area(mark))/float64(len(mark))) // NaN without a mark
	}
	if !levels {
		c.people(marks)
	}
	return c
}

// people compares each rater with each other and with the STAPLE map.
func (c *comparison) people(marks [][]uint8) {
	var values []float64
	for b, mark := range marks {
		row := make([]float64, b)
		for a, other := range marks[:b] {
			if row[a] = math.NaN(); mark == nil || other == nil {
				continue
			}
			row[a] = metric.Dice(other, mark)
			if values = append(values, row[a]); !(row[a] >= c.least) {
				c.least, c.a, c.b = row[a], a, b
			}
		}
		c.pairs = append(c.pairs, row)
	}
	c.dice, c.counts = metric.Mean(values), make([]fusion.Counts, len(marks))
	fit := fusion.STAPLE(marks, nil)
	for m, mark := range marks {
		if mark != nil {
			c.counts[m] = fusion.Count(mark, fit.Map)
		}
	}
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
