package metrics

import (
	"fmt"
	"math"

	"mrprism/internal/data/metric"
)

// Calibration gathers how probabilities compare with votes over any number of images.
type Calibration struct {
	bins   []bin
	square float64 // Σ (p − vote)²
	pixels float64
}

// bin holds the sums over the pixels of one range of probabilities.
type bin struct{ probability, vote, pixels float64 }

// NewCalibration divides 0..1 into bins of equal width; 15 and 50 are usual.
func NewCalibration(bins int) *Calibration {
	if bins < 1 {
		panic("metric: NewCalibration: no bins")
	}
	return &Calibration{bins: make([]bin, bins)}
}

// Add takes one map with its reference. If region is not nil, only its pixels count. Most of an
// image is background. No label should choose the region: a perfect map would look too low there.
func (c *Calibration) Add(p []float32, ref metric.Votes, region []uint8) {
	requireSame("Calibration.Add", len(p), len(ref.Count))
	if region != nil {
		requireSame("Calibration.Add", len(region), len(p))
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
		b.probability += float64(v)
		b.vote += vote
		b.pixels++
		c.square += square(float64(v) - vote)
		c.pixels++
	}
}

// ECE is the expected calibration error: the sum over bins of the share of pixels × |mean
// probability − mean vote|. It is NaN without pixels.
func (c *Calibration) ECE() (sum float64) {
	for _, b := range c.bins {
		sum += math.Abs(b.probability - b.vote)
	}
	return sum / c.pixels
}

// Brier is the mean of (p − vote)². It is NaN without pixels.
func (c *Calibration) Brier() float64 { return c.square / c.pixels }

// Parts are two of the three parts of Brier's score over bins (Murphy 1973): reliability, the mean
// square of a bin's probability less its vote (lower is better), and resolution, the mean square of
// a bin's vote less that of all pixels (higher is better). They are NaN without pixels.
func (c *Calibration) Parts() (reliability, resolution float64) {
	all := 0.
	for _, b := range c.bins {
		all += b.vote / c.pixels
	}
	for _, b := range c.bins {
		if b.pixels > 0 {
			reliability += square(b.probability-b.vote) / b.pixels
			resolution += square(b.vote/b.pixels-all) * b.pixels
		}
	}
	return reliability / c.pixels, resolution / c.pixels
}

// Bin is one range of probabilities in a reliability diagram.
type Bin struct {
	Probability float64 `json:"probability"` // mean, 0..1
	Vote        float64 `json:"vote"`        // mean, 0..1
	Share       float64 `json:"share"`       // of all pixels
}

// Bins are the ranges that have pixels, in ascending order.
func (c *Calibration) Bins() (bins []Bin) {
	for _, b := range c.bins {
		if b.pixels > 0 {
			bins = append(bins, Bin{b.probability / b.pixels, b.vote / b.pixels, b.pixels / c.pixels})
		}
	}
	return bins
}

// Merge adds what another Calibration of as many bins has gathered.
func (c *Calibration) Merge(other *Calibration) {
	requireSame("Calibration.Merge", len(c.bins), len(other.bins))
	for i, b := range other.bins {
		c.bins[i].probability += b.probability
		c.bins[i].vote += b.vote
		c.bins[i].pixels += b.pixels
	}
	c.square += other.square
	c.pixels += other.pixels
}
