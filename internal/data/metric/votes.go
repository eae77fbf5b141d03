// Package metric measures masks and probability maps against raters: soft Dice, Dice, calibration,
// vertical ratio, agreement, and intervals. All arithmetic is in float64.
// Votes are counted in integers.
package metric

import (
	"fmt"
	"math"
)

// Votes is a reference by raters: how many of them marked each pixel. A single rater, or an
// arbitrated mask, has Raters = 1.
type Votes struct {
	Count  []uint16 // one a pixel, 0..Raters
	Raters int
}

// Count sums masks (0 or 1) of equal size. The caller passes no mask for a rater who did not
// annotate.
func Count(masks ...[]uint8) Votes {
	if len(masks) == 0 {
		panic("metric: Count: no mask")
	}
	v := Votes{Count: make([]uint16, len(masks[0])), Raters: len(masks)}
	for _, m := range masks {
		requireSame("Count", len(m), len(v.Count))
		for i, p := range m {
			if p > 1 {
				panic(fmt.Sprintf("metric: Count: a mask holds %d; want 0 or 1", p))
			}
			v.Count[i] += uint16(p)
		}
	}
	return v
}

// Union is 1 where at least one rater marked the pixel.
func (v Votes) Union() []uint8 {
	u := make([]uint8, len(v.Count))
	for i, c := range v.Count {
		u[i] = uint8(min(c, 1))
	}
	return u
}

// Majority is 1 where more than half of the raters marked the pixel.
func (v Votes) Majority() []uint8 {
	most := make([]uint8, len(v.Count))
	for i, c := range v.Count {
		if 2*int(c) > v.Raters {
			most[i] = 1
		}
	}
	return most
}

// Mean is the mean vote, a probability.
func (v Votes) Mean() []float32 {
	p := make([]float32, len(v.Count))
	for i, c := range v.Count {
		p[i] = float32(c) / float32(v.Raters)
	}
	return p
}

// softDiceThresholds are the paper's, in thousandths, so that comparing them with votes is exact.
// Source of the thresholds, of ">" and of ε: the authors' evaluation code.
var softDiceThresholds = [...]int{100, 300, 500, 700, 900}

// SoftDice is the mean over the thresholds .1 .3 .5 .7 .9 of (2|P∩G| + ε)/(|P| + |G| + ε). P are
// the pixels at which p is above the threshold, G those at which the share of votes is; ε is 1e-4.
// If both are empty, the threshold counts 1. The value of a data set is the plain mean over its
// images.
func SoftDice(p []float32, ref Votes) (mean float64) {
	requireSame("SoftDice", len(p), len(ref.Count))
	return ref.joint(p).softDice()
}

// joint counts pixels by the number of thresholds below p (row) and below the share of votes
// (column).
type joint [len(softDiceThresholds) + 1][len(softDiceThresholds) + 1]int

func (pixels joint) softDice() (mean float64) {
	for t := range softDiceThresholds {
		var both, sum int
		for i, row := range pixels {
			for j, n := range row {
				switch {
				case i > t && j > t:
					both += n
					sum += 2 * n
				case i > t || j > t:
					sum += n
				}
			}
		}
		mean += share(both, sum, 1e-4)
	}
	return mean / float64(len(softDiceThresholds))
}

// thresholdsBelow counts in integers: three of six votes are exactly one half.
func thresholdsBelow(votes, raters int) (n int) {
	for _, t := range softDiceThresholds {
		if 1000*votes > t*raters {
			n++
		}
	}
	return n
}

func (v Votes) joint(p []float32) (pixels joint) {
	var levels [len(softDiceThresholds)]float32 // in float32, as maps are
	votes := make([]int, v.Raters+1)
	for c := range votes {
		votes[c] = thresholdsBelow(c, v.Raters)
	}
	for i, t := range softDiceThresholds {
		levels[i] = float32(float64(t) / 1000)
	}
	for i, value := range p {
		above := 0
		for _, level := range levels {
			if value > level {
				above++
			}
		}
		pixels[above][votes[v.Count[i]]]++
	}
	return pixels
}

// FleissKappa is the raters' agreement about pixels beyond chance (Fleiss 1971). It is 1 if all
// raters marked the same pixels, and some but not all of those counted. It is NaN for fewer than two
// raters, for no pixels, and if all raters marked every counted pixel or none: chance agrees as well
// then. Inside the union of their marks kappa is therefore undefined for raters who marked the same
// pixels.
func (t Tally) FleissKappa() float64 {
	n, pixels, marks, agreed := float64(len(t)-1), 0., 0., 0.
	for raters, count := range t {
		in, out := float64(raters), n-float64(raters)
		pixels += float64(count)
		marks += in * float64(count)
		agreed += (in*(in-1) + out*(out-1)) / (n * (n - 1)) * float64(count)
	}
	share := marks / (n * pixels)
	chance := share*share + (1-share)*(1-share)
	if n < 2 || chance == 1 {
		return math.NaN()
	}
	return (agreed/pixels - chance) / (1 - chance)
}
