// Package fusion makes one probability map of the marks of several raters: the mean vote, the
// majority, STAPLE and Dawid–Skene, which see one image, and Edges, which learns over a data set.
// The study has more. It also estimates each rater's sensitivity and specificity. It
// computes on the CPU in float64, for one structure at a time.
//
// Marks are a mask (H·W) of 0 and 1 for each rater, nil for a rater who did not mark the structure.
// Such a rater is left out, and his rates are NaN. Functions panic if masks differ in size, or if
// there is no mask.
package fusion

import (
	"fmt"
	"math"
)

// Fit is a fusion of marks.
type Fit struct {
	Map    []float64 // (H·W) probability that a pixel is inside
	Raters []Rates   // by rater
	// Weights are the raters' shares of the weight, NaN without a mark, 0 for a mark that was
	// thrown out. nil except for Edges.
	Weights    []float64
	Iterations int // of EM; 0 without
	// Converged is false if EM was stopped after MaxIterations.
	Converged bool
}

// Rates say how a rater marks. A rate is NaN if it is not defined: the sensitivity if nothing is
// inside, the specificity if nothing is outside, and both for a rater without a mark.
type Rates struct {
	Sensitivity float64 // p: share of the inside that the rater marks, 0..1
	Specificity float64 // q: share of the outside that the rater leaves unmarked, 0..1
}

// MeanVote is the share of raters who marked each pixel, with the raters' rates against it.
func MeanVote(marks [][]uint8) *Fit {
	mean := Votes(marks)
	return &Fit{Map: mean, Raters: RatesOf(marks, mean), Converged: true}
}

// Votes is the share (H·W) of raters who marked each pixel.
func Votes(marks [][]uint8) []float64 {
	given, n := Present(marks)
	mean := make([]float64, n)
	for _, mark := range given {
		for i, v := range mark {
			mean[i] += float64(v)
		}
	}
	for i := range mean {
		mean[i] /= float64(len(given))
	}
	return mean
}

// Majority is 1 where more than half of the raters marked the pixel. A tie is outside.
func Majority(marks [][]uint8) *Fit {
	most := Votes(marks)
	for i, share := range most {
		most[i] = 0
		if share > .5 {
			most[i] = 1
		}
	}
	return &Fit{Map: most, Raters: RatesOf(marks, most), Converged: true}
}

// STAPLE is binary STAPLE (Warfield, Zou and Wells, IEEE TMI 2004). It alternates
//
//	M   p_m = Σ W D_m / Σ W,   q_m = Σ (1 − W)(1 − D_m) / Σ (1 − W)
//	E   W = f Π p^D (1 − p)^(1−D) / (the same + (1 − f) Π q^(1−D) (1 − q)^D)
//
// as SimpleITK does with its defaults: W begins as the mean vote, f is the mean of all marks and is
// never changed, M comes first, and EM ends once no squared rate has changed by more than 1e-14.
// SimpleITK does not limit the number of iterations; here MaxIterations ends them.
//
// prior, if not nil, replaces f by a probability for each pixel (H·W). It is clamped to 1e-3 … 1 −
// 1e-3. Without it, the fusion of masks that are all empty, or all full, is such a mask.
func STAPLE(marks [][]uint8, prior []float32) *Fit {
	vote := MeanVote(marks)
	share := 0.0
	for _, v := range vote.Map {
		share += v
	}
	if share == 0 || share == float64(len(vote.Map)) {
		return vote
	}
	e := newEM(marks, prior)
	e.prevalence = share / float64(len(vote.Map))
	return e.fit(marks)
}

// Pseudo-counts of DawidSkene: EM begins as if each rater had already judged these pixels, inside
// and outside alike. They keep rates away from 0 and 1, at which a single mark would decide a
// pixel, and are few compared with the pixels of a structure.
const (
	PseudoRight = 9.0
	PseudoWrong = 1.0
)

// DawidSkene is the model of Dawid and Skene (Applied Statistics 1979) for two classes, with a
// network's probabilities (H·W) as each pixel's prior π:
//
//	M   p_m = (Σ W D_m + 9) / (Σ W + 10),   q_m = (Σ (1 − W)(1 − D_m) + 9) / (Σ (1 − W) + 10)
//	E   W = π Π p^D (1 − p)^(1−D) / (the same + (1 − π) Π q^(1−D) (1 − q)^D)
//
// Both steps are exact. The pseudo-counts 9 and 1 are those of a prior Beta(10, 2) of each rate. W
// begins as the mean vote. EM ends as in STAPLE. π is clamped to 1e-3 … 1 − 1e-3: a network is
// never certain.
//
// Without a prior, π is one number that the M step estimates: (Σ W + 1) / (H·W + 2), under a prior
// Beta(2, 2).
func DawidSkene(marks [][]uint8, prior []float32) *Fit {
	e := newEM(marks, prior)
	e.right, e.wrong, e.estimate = PseudoRight, PseudoWrong, prior == nil
	return e.fit(marks)
}

// Counts are the numbers of pixels from which a rater's rates and bias are computed. For a map they
// are sums of probabilities.
type Counts struct{ Inside, Outside, Marked, Both float64 }

// Count compares a mark with a fused map.
func Count(mark []uint8, fused []float64) (c Counts) {
	for i, v := range mark {
		c.Inside += fused[i]
		c.Marked += float64(v)
		c.Both += fused[i] * float64(v)
	}
	c.Outside = float64(len(mark)) - c.Inside
	return c
}

// Add adds the pixels of another image.
func (c *Counts) Add(o Counts) {
	c.Inside, c.Outside, c.Marked, c.Both = c.Inside+o.Inside, c.Outside+o.Outside, c.Marked+o.Marked, c.Both+o.Both
}

// Rates are the rater's rates if the map is the truth.
func (c Counts) Rates() Rates {
	return Rates{c.Both / c.Inside, (c.Outside - c.Marked + c.Both) / c.Outside}
}

// Bias is the natural logarithm of the mark's area over that of the map: positive for a rater who
// marks too much. It is NaN if either is empty.
func (c Counts) Bias() float64 {
	if c.Marked == 0 || c.Inside == 0 {
		return math.NaN()
	}
	return math.Log(c.Marked / c.Inside)
}

// RatesOf are the raters' rates if the map is the truth.
func RatesOf(marks [][]uint8, w []float64) []Rates {
	all := make([]Rates, len(marks))
	for m, mark := range marks {
		all[m] = Rates{math.NaN(), math.NaN()}
		if mark != nil {
			all[m] = Count(mark, w).Rates()
		}
	}
	return all
}

// Present returns the marks that are not nil, and the number of pixels of each.
func Present(marks [][]uint8) (given [][]uint8, pixels int) {
	for _, mark := range marks {
		if mark == nil {
			continue
		}
		if len(given) > 0 && len(mark) != pixels {
			panic(fmt.Sprintf("fusion: a mask of %d pixels beside one of %d", len(mark), pixels))
		}
		given, pixels = append(given, mark), len(mark)
	}
	if pixels == 0 {
		panic("fusion: nobody has marked a pixel")
	}
	return given, pixels
}
