package metric

import (
	"fmt"
	"math"
)

// Calibration gathers how probabilities compare with votes over any number of images.
type Calibration struct {
	bins   []bin
	square float64 // Σ (p − vote)²
	pixels float64
}

type bin struct{ pixels, probability, vote float64 }

// NewCalibration divides 0..1 into bins of equal width; 15 and 50 are usual.
func NewCalibration(bins int) *Calibration {
	if bins < 1 {
		panic("metric: NewCalibration: no bins")
	}
	return &Calibration{bins: make([]bin, bins)}
}

// Add takes one map with its reference. Where region is not nil only its pixels count: background drowns everything, so the
// union of the raters' masks (Votes.Union) is the usual second figure.
func (c *Calibration) Add(p []float32, ref Votes, region []uint8) {
	same("Calibration.Add", len(p), len(ref.Count))
	if region != nil {
		same("Calibration.Add", len(region), len(p))
	}
	for i, v := range p {
		if region != nil && region[i] == 0 {
			continue
		}
		if !(v >= 0 && v <= 1) {
			panic(fmt.Sprintf("metric: Calibration.Add: probability %v", v))
		}
		vote := float64(ref.Count[i]) / float64(ref.Raters)
		b := &c.bins[min(int(float64(v)*float64(len(c.bins))), len(c.bins)-1)]
		b.pixels++
		b.probability += float64(v)
		b.vote += vote
		c.square += (float64(v) - vote) * (float64(v) - vote)
		c.pixels++
	}
}

// ECE is the expected calibration error: Σ over bins of the share of pixels × |mean probability − mean vote|. NaN without pixels.
func (c *Calibration) ECE() float64 {
	var sum float64
	for _, b := range c.bins {
		sum += math.Abs(b.probability - b.vote)
	}
	return sum / c.pixels
}

// Brier is the mean of (p − vote)². NaN without pixels.
func (c *Calibration) Brier() float64 { return c.square / c.pixels }
