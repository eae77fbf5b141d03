package metric

import (
	"math"
	"math/rand/v2"
)

// CalibrationBins are those of calibration errors, of equal width.
const CalibrationBins = 15

// FewestRaters is the number of raters from which on they say what a perfect model would reach.
const FewestRaters = 4

// Ceiling is what a perfect model would reach beside as many raters: one that knows how likely each
// pixel is to be marked, and not who will be asked.
//
// Its map is the raters' mean vote, and others are drawn from them, whole masks with replacement: a
// rater's pixels err together, and pixels drawn by themselves would average out. Votes of M that
// are drawn from M scatter too little around their mean, by 1/M. One fewer is therefore drawn for
// soft Dice and Apart; it also makes GED exact. As many are drawn for ECE and Brier score, which
// are means over the pixels that some raters marked and others not: those that only further raters
// would dispute are not there. Hidden raters confirm both (TestCeilingOfHiddenRaters). Gross errors
// that few raters do not show make soft Dice too high.
type Ceiling struct {
	SoftDice   float64
	ECE, Brier float64 // where the raters differ; NaN if they do not
	Energy     float64 // GED of ever more masks drawn from what the raters are drawn from
	Disputed   int     // pixels that some raters marked and others not
	Apart      float64 // ECE × pixels, of any pixels that the raters did not choose
}

// redraws are those of the raters of an image.
const redraws = 400

// Ceiling is that of an image. Its figures are NaN for fewer than FewestRaters.
func (p Patterns) Ceiling() Ceiling {
	raters := len(p[0].Marks)
	if raters < FewestRaters {
		return Ceiling{math.NaN(), math.NaN(), math.NaN(), math.NaN(), 0, math.NaN()}
	}
	var c Ceiling
	each, drawn := make([]int, raters), make([]int, raters)
	for m := range each {
		each[m] = 1
		for o := range m {
			dice := p.Dice(o, m)
			c.Energy += 2 * (1 - dice/(2-dice)) / float64(raters*raters*(raters-1))
		}
	}
	votes := p.votes(each)
	for i, one := range p {
		if 0 < votes[i] && votes[i] < raters {
			c.Disputed += one.Pixels
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(raters)))
	for range redraws {
		clear(drawn)
		for range raters - 1 {
			drawn[rng.IntN(raters)]++
		}
		var pixels joint
		for i, n := range p.votes(drawn) {
			pixels[thresholdsBelow(votes[i], raters)][thresholdsBelow(n, raters-1)] += p[i].Pixels
		}
		c.SoftDice += pixels.softDice() / redraws
		apart, _ := p.calibration(votes, p.votes(drawn), raters-1)
		c.Apart += apart / redraws
		drawn[rng.IntN(raters)]++
		ece, brier := p.calibration(votes, p.votes(drawn), raters)
		c.ECE, c.Brier = c.ECE+ece/float64(redraws*c.Disputed), c.Brier+brier/float64(redraws*c.Disputed)
	}
	return c
}

// votes are those of each pattern, if each rater votes a number of times.
func (p Patterns) votes(times []int) []int {
	all := make([]int, len(p))
	for i, one := range p {
		for m, mark := range one.Marks {
			all[i] += int(mark) * times[m]
		}
	}
	return all
}

// calibration compares the share that voted with that of other votes, of so many raters, where it
// is neither none nor all: the sum over bins of pixels × |difference|, and the sum of squares.
func (p Patterns) calibration(votes, others []int, drawn int) (apart, squares float64) {
	var bins [CalibrationBins]float64
	raters := len(p[0].Marks)
	for i, n := range votes {
		if d := float64(n)/float64(raters) - float64(others[i])/float64(drawn); 0 < n && n < raters {
			bins[n*CalibrationBins/raters] += d * float64(p[i].Pixels)
			squares += d * d * float64(p[i].Pixels)
		}
	}
	for _, sum := range bins {
		apart += math.Abs(sum)
	}
	return apart, squares
}
