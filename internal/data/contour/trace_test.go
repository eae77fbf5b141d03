package contour

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cone has value level+radius−distance around (cx, cy): its level set is a circle.
func cone(width, height int, cx, cy, radius float64) []float32 {
	v := make([]float32, width*height)
	for y := range height {
		for x := range width {
			v[y*width+x] = float32(0.5 + radius - math.Hypot(float64(x)+0.5-cx, float64(y)+0.5-cy))
		}
	}
	return v
}

func TestCircle(t *testing.T) {
	for _, tolerance := range []float32{0, 0.05} {
		lines := Trace(cone(64, 50, 30.3, 24.8, 17.6), 64, 50, 0.5, tolerance)
		require.Len(t, lines.Starts, 1)
		line := lines.line(0)
		for i := 0; i < len(line); i += 2 {
			// Linear interpolation of a cone is off by at most h²/8r, about 0.01.
			assert.InDelta(t, 17.6, math.Hypot(float64(line[i])-30.3, float64(line[i+1])-24.8), 0.02)
		}
		assert.InDelta(t, math.Pi*17.6*17.6, math.Abs(area(line)), 5, "0.05 px along a circumference of 110 px")
	}
	assert.Less(t, len(Trace(cone(64, 50, 30.3, 24.8, 17.6), 64, 50, 0.5, 0.05).Points),
		len(Trace(cone(64, 50, 30.3, 24.8, 17.6), 64, 50, 0.5, 0).Points)*2/3, "simplification drops points")
}

func TestHoleTurnsTheOtherWay(t *testing.T) {
	v := cone(64, 64, 32, 32, 20)
	for i, inner := range cone(64, 64, 32, 32, 8) {
		v[i] = min(v[i], 1-inner)
	}
	lines := Trace(v, 64, 64, 0.5, 0)
	require.Len(t, lines.Starts, 2)
	outer, hole := area(lines.line(0)), area(lines.line(1))
	assert.Less(t, outer*hole, 0.0, "the hole runs against the outline")
	assert.InDelta(t, 400-64, math.Abs(outer+hole)/math.Pi, 3)
}

func TestBorderSaddleAndNothing(t *testing.T) {
	full := []float32{1, 1, 1, 1, 1, 1}
	lines := Trace(full, 3, 2, 0.5, 0)
	require.Len(t, lines.Starts, 1)
	for _, p := range lines.Points { // a full map is outlined along its border, corners cut by half a pixel
		assert.GreaterOrEqual(t, p, float32(0))
		assert.LessOrEqual(t, p, float32(3))
	}
	assert.InDelta(t, 6-0.5, math.Abs(area(lines.Points)), 1e-6)

	apart := Trace([]float32{1, 0, 0, 1}, 2, 2, 0.6, 0)
	assert.Len(t, apart.Starts, 2, "the mean of the corners is below the level: two separate corners")
	together := Trace([]float32{1, 0, 0, 1}, 2, 2, 0.4, 0)
	assert.Len(t, together.Starts, 1, "the mean of the corners is above: one band")

	assert.Empty(t, Trace(make([]float32, 12), 4, 3, 0.5, 0).Starts)
	assert.Empty(t, Trace(nil, 0, 0, 0.5, 0).Starts)
	assert.Panics(t, func() { Trace(nil, 2, 2, 0.5, 0) })
}

func TestEveryLineCloses(t *testing.T) {
	// A deterministic rough map: every crossing must be used exactly once.
	const w, h = 37, 29
	v := make([]float32, w*h)
	state := uint32(1)
	for i := range v {
		state = state*1664525 + 1013904223
		v[i] = float32(state>>8) / (1 << 24)
	}
	tr := tracer{values: v, width: w, height: h, level: 0.5, next: map[int]int{}}
	tr.link()
	assert.Len(t, tr.next, len(tr.order), "no edge is entered twice")
	for _, to := range tr.next {
		assert.Contains(t, tr.next, to, "every edge that is left is entered")
	}
}

// area is the signed area of one closed line.
func area(points []float32) float64 { return newRing(points).area }
