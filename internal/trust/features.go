// Package trust tells when to believe a result. From results on training images it learns how their
// figures are spread (Fit), what becomes of probabilities (maps) and how far measurements are off
// (spreads); of a new result it says how odd it is and why. It is pure arithmetic: package segment
// gathers the figures.
package trust

import (
	"math"
	"slices"

	"mrprism/weights"
)

// directions is how many directions of features a look keeps at most: fewer where there are few
// images.
const directions = 12

// NewFeatures fits a mean and principal directions to the features (n, D) of n looks. Fewer than
// four looks say too little: not ok.
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
			along := project(x[i], row)
			unit := lengthOf(row)
			for j, v := range row {
				x[i][j] -= along * float64(int8(v)) / unit
			}
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

// principal is the direction of unit length along which the rows x (n, D), whose mean is 0, vary
// most, and their deviation along it, by power iteration.
func principal(x [][]float64) (direction []float64, deviation float64) {
	d := len(x[0])
	direction = make([]float64, d)
	for j := range direction {
		direction[j] = 1 + .1*math.Sin(float64(j)) // no row is at a right angle to it but by chance
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

// rounded is a direction in signed bytes.
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

// lengthOf is that of a direction in signed bytes.
func lengthOf(row []byte) float64 {
	sum := 0.
	for _, v := range row {
		sum += float64(int8(v)) * float64(int8(v))
	}
	return math.Sqrt(sum)
}

// project is x along a direction in signed bytes.
func project(x []float64, row []byte) float64 {
	sum := 0.
	for j, v := range row {
		sum += x[j] * float64(int8(v))
	}
	return sum / lengthOf(row)
}

// Distance is Mahalanobis' along the directions, together with the distance from their span, each
// as a multiple of the usual: about 1 for looks like those of the fit. It is infinite where the
// look's number of features is another, or one is no number.
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
		row := f.Directions[i*d:][:d]
		along, unit := project(x, row), lengthOf(row)
		inside += along * along / float64(deviation) / float64(deviation) / float64(len(f.Deviations))
		for j, v := range row {
			x[j] -= along * float64(int8(v)) / unit
		}
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

// Unseen are the distances of looks from fits that have not seen them: those of a part from the fit
// of the other parts. parts has one for each look. Not ok where a fit has too few.
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
