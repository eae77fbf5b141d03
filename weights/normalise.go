package weights

import (
	"math"
	"slices"
)

// Normalise maps a pixel value v in 0..1 to -2..2, the range that the network expects.
func Normalise(v float32) float32 { return (v - 0.5) / 0.25 }

// Denormalise reverses Normalise.
func Denormalise(v float32) float32 { return v*0.25 + 0.5 }

// Standardise removes brightness and contrast from an image's values, of any shape: it replaces v
// by (v − mean) / deviation, clamped to ±4. For the mean and the deviation, values beyond the 5th
// and the 95th percentile count as those percentiles (winsorised): otherwise specks and haloes
// would hide faint structures. A deviation below 0.01 of 0..1 counts as 0.01: otherwise noise would
// become a picture.
func Standardise(x []float32) {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	low, high := sorted[len(x)/20], sorted[len(x)-1-len(x)/20]
	mean, square := 0., 0.
	for _, v := range sorted {
		mean += float64(min(max(v, low), high)) / float64(len(x))
	}
	for _, v := range sorted {
		d := float64(min(max(v, low), high)) - mean
		square += d * d / float64(len(x))
	}
	deviation := max(math.Sqrt(square), 0.01)
	for i, v := range x {
		x[i] = float32(min(max((float64(v)-mean)/deviation, -4), 4))
	}
}
