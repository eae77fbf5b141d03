package attention_test

import (
	"math"
	"mrprism/shaders/attention"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPositionEncoding(t *testing.T) {
	table := attention.PositionEncoding(2, 4, 8)
	require.Len(t, table, 2*4*8)
	// y = 1 of 2 is at 3π/2, x = 0 of 4 at π/4; the frequencies of 4 channels are 1 and 1/100.
	y, x := 1.5*math.Pi, 0.25*math.Pi
	want := []float64{
		math.Sin(y), math.Cos(y), math.Sin(y / 100), math.Cos(y / 100),
		math.Sin(x), math.Cos(x), math.Sin(x / 100), math.Cos(x / 100),
	}
	for c, v := range want {
		assert.InDelta(t, v, table[4*8+c], 1e-7, "channel %d", c) // rounding to f32
	}
	assert.Panics(t, func() { attention.PositionEncoding(2, 2, 6) })
}
