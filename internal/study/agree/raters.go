package agree

import (
	"math"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/statistics"
)

// comparedImage is an image with its masks and its figures.
type comparedImage struct {
	dataset.Case
	marks   [][][]uint8      // (K, M); nil for a missing mask
	classes []*comparedMarks // by class; nil if fewer than two raters marked it
	ratios  []float64        // by rater; nil unless all marked disc and cup
	faults  dataset.Problems
}

// comparedMarks are the raters of an image beside each other.
type comparedMarks struct {
	disagreement
	dice [][]float64   // by rater and earlier rater; NaN without both masks
	rows []raterCounts // by rater
}

// look reads the masks of an image and compares them.
func (g *agreementStudy) look(c dataset.Case) *comparedImage {
	l := &comparedImage{Case: c, marks: make([][][]uint8, len(g.data.Classes)), classes: make([]*comparedMarks, len(g.data.Classes))}
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
		if len(given) > 1 && (!g.data.Levels || len(given) == len(marks)) {
			l.classes[k] = compare(c.Name, marks, metric.Count(given...), g.data.Levels)
		}
	}
	l.ratios = g.verticalRatios(l)
	return l
}

// compare compares the marks of a structure, of which at least two are given.
func compare(image string, marks [][]uint8, votes metric.Votes, levels bool) *comparedMarks {
	c := &comparedMarks{disagreement: disagreement{image: image, raters: votes.Raters, dice: math.NaN(), least: math.Inf(1)}}
	union := votes.Union()
	c.union, c.whole = metric.FleissKappa(votes, union), metric.FleissKappa(votes, nil)
	all := 0
	for _, n := range votes.Count {
		if int(n) == votes.Raters {
			all++
		}
	}
	c.consensus = float64(all) / float64(metric.Area(union)) // NaN if nothing is marked
	c.rows = make([]raterCounts, len(marks))
	for m, mark := range marks {
		if mark != nil {
			c.rows[m] = raterCounts{masks: 1, area: float64(metric.Area(mark)) / float64(len(mark))}
		}
	}
	if !levels {
		c.people(marks)
	}
	return c
}

// people compares each rater with each other and with the STAPLE map.
func (c *comparedMarks) people(marks [][]uint8) {
	c.dice = make([][]float64, len(marks))
	var values []float64
	for b, mark := range marks {
		for a, other := range marks[:b] {
			if mark == nil || other == nil {
				c.dice[b] = append(c.dice[b], math.NaN())
				continue
			}
			d := metric.Dice(other, mark)
			c.dice[b], values = append(c.dice[b], d), append(values, d)
			if d < c.least {
				c.least, c.a, c.b = d, a, b
			}
		}
	}
	c.disagreement.dice = metric.Mean(values)
	fit := fusion.STAPLE(marks, nil)
	for m, mark := range marks {
		if mark != nil {
			c.rows[m].compared, c.rows[m].Counts = 1, fusion.Count(mark, fit.Map)
		}
	}
}

// verticalRatios are the raters' vertical cup/disc ratios. They are nil without the structures, for
// agreement levels, and unless every rater has marked a disc and a cup.
func (g *agreementStudy) verticalRatios(l *comparedImage) (ratios []float64) {
	disc, cup := segment.DiscAndCup(g.data.Classes)
	if disc < 0 || cup < 0 || g.data.Levels {
		return nil
	}
	for m, outer := range l.marks[disc] {
		inner := l.marks[cup][m]
		if outer == nil || inner == nil || metric.Area(outer) == 0 {
			return nil
		}
		ratios = append(ratios, metric.VerticalRatio(outer, inner, l.W, l.H))
	}
	return ratios
}
