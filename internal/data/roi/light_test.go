package roi

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A field that is dark on one side becomes even, a disc in it stays brighter than what surrounds
// it, and what is beside the field stays as it is.
func TestEven(t *testing.T) {
	const s = 64
	x, disc := make([]float32, 3*s*s), 3*(30*s+14)
	for i := range x {
		at := i / 3 % s
		switch far := math.Hypot(float64(at)-32, float64(i/3/s)-32); {
		case far > 30:
			x[i] = .01
		default:
			x[i] = .12 + .3*float32(at)/s
		}
	}
	for c := range 3 {
		x[disc+c] *= 1.5
	}
	Even(x, s)
	assert.InDelta(t, .01, x[0], 1e-6)
	for _, at := range []int{16, 32, 48} {
		assert.InDelta(t, .6, x[3*(40*s+at)], .12, "column %d", at)
	}
	assert.InDelta(t, 1.5, x[disc]/x[disc+3*s], .05)
}

// Another gamma of the same photograph gives the same pixels, of the same medians.
func TestTone(t *testing.T) {
	var x, other []float32
	for i := range 3 * 101 {
		v := .2 + .6*float64(i)/303
		x, other = append(x, float32(v)), append(other, float32(math.Pow(v, 1.6)))
	}
	Tone(x)
	Tone(other)
	assert.InDeltaSlice(t, x, other, 1e-5)
	assert.InDeltaSlice(t, tones[:], x[3*50:][:3], 1e-5)
}
