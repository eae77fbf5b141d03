package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A cup that lies a little up and left in a round disc leaves rims that geometry knows.
func TestRim(t *testing.T) {
	const w, h = 140, 120
	round := func(cx, cy, radius float64) []uint8 {
		mask := make([]uint8, w*h)
		for i := range mask {
			if math.Hypot(float64(i%w)+0.5-cx, float64(i/w)+0.5-cy) <= radius {
				mask[i] = 1
			}
		}
		return mask
	}
	disc, cup := round(70, 60, 40), round(66, 52, 20)
	rim, ok := RimOf(disc, cup, w, h)
	assert.True(t, ok)
	for hour, width := range rim.Hours {
		angle := float64(hour) * math.Pi / 6
		dx, dy := math.Sin(angle), -math.Cos(angle)
		along := -4*dx - 8*dy // of the cup's centre, on the ray
		wanted := 40 - along - math.Sqrt(20*20-(80-along*along))
		assert.InDelta(t, wanted, width, 0.7, "at %d o'clock", hour)
	}
	assert.Less(t, rim.Hours[11], rim.Hours[5])
	assert.InDelta(t, (40-math.Hypot(4, 8)-20)/80, rim.Narrowest, 0.01, "where the cup is displaced to")
	assert.Equal(t, 11, rim.At)
	assert.Zero(t, rim.Absent)
	outside, ok := RimOf(disc, round(70, 60, 45), w, h)
	assert.True(t, ok)
	assert.InDelta(t, -5, outside.Hours[3], 0.7)
	assert.Zero(t, outside.Narrowest)
	assert.InDelta(t, 360, outside.Absent, 1e-9)
	beyond, ok := RimOf(disc, round(60, 60, 35), w, h) // it reaches over the disc's left border
	assert.True(t, ok)
	assert.InDelta(t, 2*math.Acos((40*40-35*35+10*10)/(2.*10)/40)*180/math.Pi, beyond.Absent, 9, "where the circles cross")
	_, ok = RimOf(disc, make([]uint8, w*h), w, h)
	assert.False(t, ok, "without a cup there is no rim")
	_, ok = RimOf(make([]uint8, w*h), cup, w, h)
	assert.False(t, ok)
}

func TestDiameters(t *testing.T) {
	mask := []uint8{
		0, 1, 1, 1,
		0, 1, 0, 0,
	}
	assert.Equal(t, 2, VerticalDiameter(mask, 4, 2))
	assert.Equal(t, Extent{4, 2, 3}, ExtentOf(mask, 4, 2))
}
