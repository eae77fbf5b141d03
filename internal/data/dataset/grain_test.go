package dataset

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGrain(t *testing.T) {
	const s = 48
	ramp := make([]float32, 3*s*s)
	for i := range ramp {
		ramp[i] = .3 + .4*float32(i/3%s)/s
	}
	assert.InDelta(t, .4/3.4641, spread(ramp), .001, "of a uniform distribution")
	source := rand.NewPCG(1, 2)
	rng := rand.New(source)
	grainy := 0
	for range 40 {
		pixels := append([]float32{}, ramp...)
		Augmentation{Grain: .5}.grain(pixels, s, rng)
		added, most := make([]float32, s*s), float32(0)
		for i := range added {
			added[i] = pixels[3*i] - ramp[3*i]
			most = max(most, added[i], -added[i])
			assert.InDelta(t, added[i], pixels[3*i+2]-ramp[3*i+2], 1e-6, "grey")
		}
		assert.LessOrEqual(t, spread(added), .6*spread(ramp), "interpolation lessens it, chance adds a little")
		if most > 0 {
			grainy++
		}
	}
	assert.InDelta(t, 20, grainy, 9, "every second view")
	pixels := append([]float32{}, ramp...)
	before := *source
	Augmentation{}.grain(pixels, s, rng)
	assert.Equal(t, ramp, pixels)
	assert.Equal(t, before, *source, "nothing is drawn")
}
