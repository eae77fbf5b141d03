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
// soft Dice and Apart; it also makes GED exact. As many are drawn for ECE and Brier score, since
// pixels that only further raters would dispute are not among theirs. Hidden raters confirm both
// (TestCeilingOfHiddenRaters). Gross errors that few raters do not show make soft Dice too high.
type Ceiling struct {
	SoftDice   float64
	ECE, Brier float64 // where some raters marked and others did not; NaN if that is nowhere
	Energy     float64 // GED of ever more masks drawn from what the raters are drawn from
	Apart      float64 // ECE × pixels, of any pixels that the raters did not choose
}

// Ceiling is that of an image. Its figures are NaN for fewer than FewestRaters.
func (p Patterns) Ceiling() (c Ceiling) {
	const redraws = 400
	raters := len(p[0].Marks)
	if raters < FewestRaters {
		return Ceiling{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	for m := range raters {
		for o := range m {
			dice := p.Dice(o, m)
			c.Energy += 2 * (1 - dice/(2-dice)) / float64(raters*raters*(raters-1))
		}
	}
	rng, drawn := rand.New(rand.NewPCG(1, uint64(raters))), make([]int, raters)
	for range redraws {
		clear(drawn)
		for range raters - 1 {
			drawn[rng.IntN(raters)]++
		}
		soft, ece, _, pixels := p.beside(drawn, raters-1)
		c.SoftDice, c.Apart = c.SoftDice+soft/redraws, c.Apart+ece*pixels/redraws
		drawn[rng.IntN(raters)]++
		_, ece, brier, _ := p.beside(drawn, raters)
		c.ECE, c.Brier = c.ECE+ece/redraws, c.Brier+brier/redraws
	}
	return c
}

// beside compares the share of all raters who marked with that of n drawn ones, each so many times.
// Soft Dice is over all pixels, ECE and Brier score over those that some and not all marked.
func (p Patterns) beside(drawn []int, n int) (soft, ece, brier, disputed float64) {
	var bins [CalibrationBins]float64
	var all joint
	raters := len(drawn)
	for _, one := range p {
		votes, others := 0, 0
		for m, mark := range one.Marks {
			votes, others = votes+int(mark), others+int(mark)*drawn[m]
		}
		all[thresholdsBelow(votes, raters)][thresholdsBelow(others, n)] += one.Pixels
		if d, pixels := float64(votes)/float64(raters)-float64(others)/float64(n), float64(one.Pixels); 0 < votes && votes < raters {
			bins[votes*CalibrationBins/raters] += d * pixels
			brier, disputed = brier+d*d*pixels, disputed+pixels
		}
	}
	for _, sum := range bins {
		ece += math.Abs(sum)
	}
	return all.softDice(), ece / disputed, brier / disputed, disputed
}
