// Package trust says when to believe a result. From results on training images it learns the spread
// of their figures (Fit), a calibration of probabilities (maps) and the errors of measurements
// (spreads). Of a new result it says how odd it is and why. The package only computes: package
// segment gathers the figures.
package trust

import (
	"math"
	"slices"

	"mrprism/weights"
)

// directions is the largest number of directions of a look. Few images give fewer.
const directions = 12

// NewFeatures fits a mean and principal directions to the features (n, D) of n looks. With fewer
// than four looks ok is false.
func NewFeatures(looks [][]float32) (f weights.Features, ok bool) {
	n := len(looks)
	if n < 4 {
		return f, false
	}
	d := len(looks[0])
	f.Mean, f.Scale = make([]float32, d), make([]float32, d)
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
	}
	for j := range d {
		mean, square := 0., 0.
		for _, look := range looks {
			mean += float64(look[j]) / float64(n)
		}
		for _, look := range looks {
			square += (float64(look[j]) - mean) * (float64(look[j]) - mean) / float64(n)
		}
		f.Mean[j], f.Scale[j] = float32(mean), float32(math.Sqrt(square)+1e-3*math.Abs(mean)+1e-4)
		for i, look := range looks {
			x[i][j] = (float64(look[j]) - mean) / float64(f.Scale[j])
		}
	}
	for range min(directions, n/4) {
		direction, deviation := principal(x)
		if deviation < 1e-6 {
			break
		}
		row := rounded(direction)
		f.Directions = append(f.Directions, row...)
		f.Deviations = append(f.Deviations, float32(deviation))
		for i := range x {
			remove(x[i], row)
		}
	}
	rest := 0.
	for i := range x {
		for _, v := range x[i] {
			rest += v * v / float64(n)
		}
	}
	f.Rest = float32(math.Sqrt(rest) + 1e-6)
	return f, true
}

// principal returns the direction of unit length along which the rows x (n, D) vary most, and their
// deviation along it. The mean of x is 0. The method is power iteration.
func principal(x [][]float64) (direction []float64, deviation float64) {
	d := len(x[0])
	direction = make([]float64, d)
	for j := range direction {
		direction[j] = 1 + .1*math.Sin(float64(j)) // a start that is hardly at a right angle to any row
	}
	for range 60 {
		next := make([]float64, d)
		for _, row := range x {
			along := 0.
			for j, v := range row {
				along += v * direction[j]
			}
			for j, v := range row {
				next[j] += along * v
			}
		}
		size := 0.
		for _, v := range next {
			size += v * v
		}
		if size = math.Sqrt(size); size == 0 {
			return direction, 0
		}
		for j := range next {
			direction[j] = next[j] / size
		}
		deviation = math.Sqrt(size / float64(len(x)))
	}
	return direction, deviation
}

// rounded returns a direction in signed bytes.
func rounded(direction []float64) []byte {
	most := 0.
	for _, v := range direction {
		most = max(most, math.Abs(v))
	}
	row := make([]byte, len(direction))
	for j, v := range direction {
		row[j] = byte(int8(math.Round(127 * v / most)))
	}
	return row
}

// remove takes off x its part along a direction in signed bytes, and returns the length of that
// part.
func remove(x []float64, row []byte) (along float64) {
	squares := 0.
	for j, v := range row {
		along += x[j] * float64(int8(v))
		squares += float64(int8(v)) * float64(int8(v))
	}
	length := math.Sqrt(squares)
	along /= length
	for j, v := range row {
		x[j] -= along * float64(int8(v)) / length
	}
	return along
}

// Distance combines Mahalanobis' distance along the directions with the distance from their span.
// It is about 1 for looks like those of the fit. It is infinite if the look has another number of
// features, or if one is NaN.
func Distance(f weights.Features, look []float32) float64 {
	d := len(f.Mean)
	if len(look) != d {
		return math.Inf(1)
	}
	x := make([]float64, d)
	for j, v := range look {
		x[j] = (float64(v) - float64(f.Mean[j])) / float64(f.Scale[j])
	}
	inside := 0.
	for i, deviation := range f.Deviations {
		along := remove(x, f.Directions[i*d:][:d])
		inside += along * along / float64(deviation) / float64(deviation) / float64(len(f.Deviations))
	}
	rest := 0.
	for _, v := range x {
		rest += v * v
	}
	distance := math.Sqrt((inside + rest/float64(f.Rest)/float64(f.Rest)) / 2)
	if math.IsNaN(distance) {
		return math.Inf(1)
	}
	return distance
}

// Unseen returns the distance of each look from a fit to the looks of the other parts. parts has
// one number for each look. ok is false if a fit has too few looks.
func Unseen(looks [][]float32, parts []int) (distances []float64, ok bool) {
	distances = make([]float64, len(looks))
	for part := range 1 + slices.Max(append([]int{0}, parts...)) {
		if !slices.Contains(parts, part) {
			continue
		}
		var others [][]float32
		for i, look := range looks {
			if parts[i] != part {
				others = append(others, look)
			}
		}
		f, ok := NewFeatures(others)
		if !ok {
			return nil, false
		}
		for i, look := range looks {
			if parts[i] == part {
				distances[i] = Distance(f, look)
			}
		}
	}
	return distances, true
}
