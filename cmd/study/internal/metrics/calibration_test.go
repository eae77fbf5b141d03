package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCalibration(t *testing.T) {
	ref := metric.Count([]uint8{1, 1, 0, 0}, []uint8{1, 0, 0, 0})
	perfect := NewCalibration(15)
	perfect.Add(ref.Mean(), ref, nil)
	assert.Zero(t, perfect.ECE())
	assert.Zero(t, perfect.Brier())
	c := NewCalibration(10)
	c.Add([]float32{.75, .75, .25, .25}, ref, nil)
	// bin .7: mean p .75, mean vote .75; bin .2: mean p .25, mean vote 0
	assert.InDelta(t, .125, c.ECE(), 1e-12)
	assert.InDelta(t, .0625, c.Brier(), 1e-12)
	require.Equal(t, []Bin{{.25, 0, .5}, {.75, .75, .5}}, c.Bins())
	both := NewCalibration(10)
	both.Merge(c)
	both.Merge(c)
	require.Equal(t, c.Bins(), both.Bins())
	assert.InDelta(t, c.Brier(), both.Brier(), 1e-12)
	inner := NewCalibration(10)
	inner.Add([]float32{.75, .75, .25, .25}, ref, ref.Union())
	assert.InDelta(t, 0, inner.ECE(), 1e-12)
	one := NewCalibration(3)
	one.Add([]float32{1}, metric.Votes{Count: []uint16{1}, Raters: 1}, nil)
	assert.Zero(t, one.ECE(), "p = 1 falls in the last bin")
	assert.True(t, math.IsNaN(NewCalibration(5).ECE()))
}

// Raters who draw each pixel with the map's probability: a bin's spread parts into reliability and
// resolution.
func TestCalibrationParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	const pixels, raters = 30000, 3
	p, votes := make([]float32, pixels), metric.Votes{Count: make([]uint16, pixels), Raters: raters}
	for i := range p {
		p[i] = .02 + .96*rng.Float32()
		for range raters {
			if rng.Float32() < p[i] {
				votes.Count[i]++
			}
		}
	}
	c := NewCalibration(15)
	c.Add(p, votes, nil)
	reliability, resolution := c.Parts()
	assert.Less(t, reliability, .002)
	assert.Greater(t, resolution, .07, "1/12 of uniform probabilities")
}
