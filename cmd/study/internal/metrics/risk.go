package metrics

import (
	"cmp"
	"slices"
)

// RiskPoint is the mean soft Dice of the images that are kept, the least odd first.
type RiskPoint struct {
	Share float64 `json:"share"` // of the images, above 0 to 1
	Dice  float64 `json:"softDice"`
}

// Ranked is an image with its oddness.
type Ranked struct{ Score, Dice float64 }

// Curve is the mean soft Dice of the first image, the first two and so on, in the order of their
// scores, and the area under it: the mean of its points. Images of equal scores have no order: each
// counts as their mean.
func Curve(images []Ranked) (points []RiskPoint, area float64) {
	slices.SortStableFunc(images, func(a, b Ranked) int { return cmp.Compare(a.Score, b.Score) })
	sum := 0.
	for first := 0; first < len(images); {
		last, mean := first, 0.
		for ; last < len(images) && images[last].Score == images[first].Score; last++ {
			mean += images[last].Dice
		}
		mean /= float64(last - first)
		for ; first < last; first++ {
			sum += mean
			n := float64(first + 1)
			points = append(points, RiskPoint{n / float64(len(images)), sum / n})
			area += sum / n / float64(len(images))
		}
	}
	return points, area
}
