// Package metric measures masks and probability maps against raters: soft Dice, Dice, calibration, vertical ratio, structural
// similarity, and bootstrap intervals. All arithmetic is in float64; votes are counted in integers.
package metric

import "fmt"

// Pixel is a mask's value, 0 or 1, or a probability. As a mask it is inside where it exceeds one half.
type Pixel interface{ ~uint8 | ~float32 }

// Votes is a reference given by raters: at each pixel how many of them marked it. One rater or an arbitrated mask is the case of
// one vote.
type Votes struct {
	Count  []uint16 // one a pixel, 0..Raters
	Raters int
}

// Count sums masks (0 or 1) of equal size. Raters who did not annotate are left out by not passing their mask.
func Count(masks ...[]uint8) Votes {
	if len(masks) == 0 {
		panic("metric: Count: no mask")
	}
	v := Votes{Count: make([]uint16, len(masks[0])), Raters: len(masks)}
	for _, m := range masks {
		same("Count", len(m), len(v.Count))
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
		if c > 0 {
			u[i] = 1
		}
	}
	return u
}

// Mean is the mean vote, a probability.
func (v Votes) Mean() []float32 {
	p := make([]float32, len(v.Count))
	for i, c := range v.Count {
		p[i] = float32(c) / float32(v.Raters)
	}
	return p
}

// SoftDiceOptions are the choices in soft Dice on which publications differ.
type SoftDiceOptions struct {
	Thresholds []int   // in thousandths, so that comparing with votes is exact
	Inclusive  bool    // binarise with ≥ instead of >
	Epsilon    float64 // added to numerator and denominator
}

// DefaultSoftDice is the paper's: thresholds .1 .3 .5 .7 .9, binarised with >, ε = 1e-4. Source: the authors' evaluation code.
var DefaultSoftDice = SoftDiceOptions{Thresholds: []int{100, 300, 500, 700, 900}, Epsilon: 1e-4}

// SoftDice is the mean over thresholds of (2|P∩G| + ε)/(|P| + |G| + ε), where P is p and G the share of votes, both binarised.
// Both empty give 1. The value of a data set is the plain mean over its images.
func SoftDice(p []float32, ref Votes, o SoftDiceOptions) float64 {
	same("SoftDice", len(p), len(ref.Count))
	if len(o.Thresholds) == 0 {
		panic("metric: soft Dice without thresholds")
	}
	var sum float64
	for _, t := range o.Thresholds {
		level := float32(float64(t) / 1000) // rounded, as where maps are compared in float32
		votes := t * ref.Raters             // count/raters > t/1000, in integers: with six raters three votes are exactly one half
		sum += overlap(len(p), func(i int) bool {
			return p[i] > level || (o.Inclusive && p[i] == level)
		}, func(i int) bool {
			c := 1000 * int(ref.Count[i])
			return c > votes || (o.Inclusive && c == votes)
		}, o.Epsilon)
	}
	return sum / float64(len(o.Thresholds))
}

// Dice is 2|A∩B|/(|A| + |B|) of two masks; both empty give 1.
func Dice[A, B Pixel](a []A, b []B) float64 {
	same("Dice", len(a), len(b))
	return overlap(len(a), func(i int) bool { return inside(a[i]) }, func(i int) bool { return inside(b[i]) }, 0)
}

func overlap(n int, a, b func(i int) bool, epsilon float64) float64 {
	var both, sum int
	for i := range n {
		inA, inB := a(i), b(i)
		if inA {
			sum++
		}
		if inB {
			sum++
			if inA {
				both++
			}
		}
	}
	if sum == 0 {
		return 1
	}
	return (2*float64(both) + epsilon) / (float64(sum) + epsilon)
}

func inside[T Pixel](v T) bool { return float64(v) > 0.5 }

func same(what string, a, b int) {
	if a != b {
		panic(fmt.Sprintf("metric: %s: %d values against %d", what, a, b))
	}
}
