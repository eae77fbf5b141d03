package agree

import (
	"image"
	"math"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// comparedImage is an image with its figures.
type comparedImage struct {
	at      int            // in the data set
	marks   *dataset.Marks // nil if the image is left out or has faults
	classes []*comparison  // by class; nil if fewer than two raters marked it
	ratios  *ratios        // nil unless two or more marked disc and cup
	again   []*rereading
	faults  dataset.Problems
}

// comparison is the raters of an image beside each other. Figures are NaN where they are not
// defined, and Dice also for agreement levels.
type comparison struct {
	statistics.Unit
	at           int // of the image in the data set
	image        string
	raters       int
	pairs        [][]float64     // Dice by rater and earlier rater; nil for levels
	kappas       [][]float64     // Cohen's, so too
	areas        []float64       // by rater: share of the image
	counts       []fusion.Counts // by rater, beside the STAPLE map; nil for levels
	displaced    []metric.Displacement
	dice         float64 // mean over the pairs of raters
	least        float64 // of a pair
	a, b         int     // that pair
	union, whole float64 // Fleiss' kappa inside the union of the marks, and over the whole image
	coincidences metric.Coincidences
	consensus    float64 // pixels that all marked over pixels that anybody marked
	ceiling      metric.Ceiling
}

// rank is less for images whose raters agree less: the mean Dice of their pairs, and of agreement
// levels the consensus.
func (c *comparison) rank() float64 {
	if math.IsNaN(c.dice) {
		return c.consensus
	}
	return c.dice
}

// look reads the masks of an image and compares them.
func (s *Study) look(i int) *comparedImage {
	c := s.data.Cases[i]
	l := &comparedImage{at: i, classes: make([]*comparison, len(s.data.Classes))}
	if l.marks, l.faults = c.Marks(); l.marks == nil {
		return l
	}
	for k := range s.data.Classes {
		marks := classOf(l.marks, k)
		given := statistics.Filter(marks, func(m []uint8) bool { return m != nil })
		if len(given) > 1 && (!s.data.Levels || len(given) == len(marks)) {
			patterns := metric.PatternsOf(given...)
			patterns[0].Pixels += l.marks.W*l.marks.H - len(given[0]) // outside the window
			l.classes[k] = compare(c.Name, marks, patterns, s.data.Levels)
			l.classes[k].at, l.classes[k].Unit = i, statistics.Unit(1+s.units[i])
			l.classes[k].displaced = metric.Displacements(max(1, l.marks.Window.Dx()), marks...)
		}
	}
	unit := statistics.Unit(1 + s.units[i])
	l.ratios, l.again = s.verticalRatios(l.marks, unit), s.rereadings(l.marks, unit)
	return l
}

// classOf are the masks of class k by rater.
func classOf(marks *dataset.Marks, k int) [][]uint8 {
	return statistics.Tabulate(len(marks.Masks), func(m int) []uint8 { return marks.Masks[m][k] })
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
			area = float64(given.Area(next)) / float64(given.Pixels())
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
		row, kappas := make([]float64, b), make([]float64, b)
		for a, first := range at[:b] {
			if row[a], kappas[a] = math.NaN(), math.NaN(); first < 0 || second < 0 {
				continue
			}
			row[a], kappas[a] = given.Dice(first, second), given.Kappa(first, second)
			if values = append(values, row[a]); !(row[a] >= c.least) {
				c.least, c.a, c.b = row[a], a, b
			}
		}
		c.pairs, c.kappas = append(c.pairs, row), append(c.kappas, kappas)
		if second >= 0 {
			c.counts[b] = beside[second]
		}
	}
	c.dice, c.ceiling = metric.Mean(values), given.Ceiling()
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
func (s *Study) verticalRatios(marks *dataset.Marks, unit statistics.Unit) *ratios {
	disc, cup := metric.DiscAndCup(s.data.Classes)
	if disc < 0 || cup < 0 || s.data.Levels {
		return nil
	}
	r, has := &ratios{Unit: unit}, 0
	for _, row := range marks.Masks {
		one := ratioOf(row[disc], row[cup], marks.Window)
		if r.of = append(r.of, one); !math.IsNaN(one) {
			has++
		}
	}
	if has < 2 {
		return nil
	}
	return r
}

// ratioOf is the vertical ratio of masks of a window; NaN without a disc, or if a mask is missing.
func ratioOf(disc, cup []uint8, window image.Rectangle) float64 {
	if disc == nil || cup == nil || metric.Area(disc) == 0 {
		return math.NaN()
	}
	return metric.VerticalRatio(disc, cup, window.Dx(), window.Dy())
}
