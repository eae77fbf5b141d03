// Package fusiontest draws discs, and marks of raters, for tests of fusion.
package fusiontest

import (
	"math"
	"math/rand/v2"
)

// Steady is the radius, or the noise, that is the same in all directions.
func Steady(noise float64) func(float64) float64 { return func(float64) float64 { return noise } }

// Disc is a round mask.
func Disc(side int, radius func(theta float64) float64) []uint8 {
	mask, middle := make([]uint8, side*side), float64(side-1)/2
	for i := range mask {
		x, y := float64(i%side)-middle, float64(i/side)-middle
		if math.Hypot(x, y) < radius(math.Atan2(y, x)) {
			mask[i] = 1
		}
	}
	return mask
}

// Wobble is a smooth function around the circle with standard normal values.
func Wobble(random *rand.Rand) func(theta float64) float64 {
	var a, b [4]float64
	for k := range a {
		a[k], b[k] = random.NormFloat64()/2, random.NormFloat64()/2
	}
	return func(theta float64) (sum float64) {
		for k := range a {
			sin, cos := math.Sincos(float64(k+1) * theta)
			sum += a[k]*cos + b[k]*sin
		}
		return sum
	}
}

// Random draws marks and a prior that mean nothing.
func Random(r *rand.Rand, raters, pixels int) (marks [][]uint8, prior []float32) {
	for range raters {
		mark, share := make([]uint8, pixels), r.Float64()
		for i := range mark {
			if r.Float64() < share {
				mark[i] = 1
			}
		}
		marks = append(marks, mark)
	}
	for range pixels {
		prior = append(prior, min(1, float32(r.ExpFloat64()/2)))
	}
	return marks, prior
}

// Drawn marks a disc as raters of known rates would. The marks of a pixel are independent.
func Drawn[R ~struct{ Sensitivity, Specificity float64 }](random *rand.Rand, side int, raters []R) (truth []uint8, marks [][]uint8) {
	truth = make([]uint8, side*side)
	for i := range truth {
		if math.Hypot(float64(i%side-side/2), float64(i/side-side/2)) < float64(side)/4 {
			truth[i] = 1
		}
	}
	for _, rates := range raters {
		r := struct{ Sensitivity, Specificity float64 }(rates)
		mark := make([]uint8, len(truth))
		for i, v := range truth {
			wrong := 1 - r.Specificity
			if v == 1 {
				wrong = 1 - r.Sensitivity
			}
			if mark[i] = v; random.Float64() < wrong {
				mark[i] = 1 - v
			}
		}
		marks = append(marks, mark)
	}
	return truth, marks
}
