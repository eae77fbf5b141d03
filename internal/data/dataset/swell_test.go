package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The outline and everything beyond it stay in place. The order of distances stays, up to
// MostSwell. Points inside move outwards or inwards as by says.
func TestSwell(t *testing.T) {
	for _, by := range []float64{math.Exp(MostSwell) - 1, math.Exp(-MostSwell) - 1, .5, -.5} {
		s := swell{disc{100, 50, 20}, by}
		before := 0.
		for i := 1; i <= 300; i++ {
			r := float64(i) / 200 * s.radius
			x, y := s.source(s.x+.6*r, s.y-.8*r)
			seen := math.Hypot(x-s.x, y-s.y)
			assert.InDelta(t, -.8/.6, (y-s.y)/(x-s.x), 1e-9, "along a radius")
			require.Greater(t, seen, before, "%v at %v radii", by, r/s.radius)
			switch {
			case r >= s.radius:
				require.InDelta(t, r, seen, 1e-9)
			case by > 0:
				require.Greater(t, seen, r, "what is farther out is seen: smaller")
			default:
				require.Less(t, seen, r)
			}
			before = seen
		}
	}
}

// Training views show a cup within a disc smaller and larger, and the disc unchanged. Without Swell
// nothing is drawn.
func TestViewsSwell(t *testing.T) {
	const side = 200
	disc, cup := make([]uint8, side*side), make([]uint8, side*side)
	for i := range disc {
		r := math.Hypot(float64(i%side)+.5-110, float64(i/side)+.5-90)
		disc[i], cup[i] = uint8(btoi(r < 60)), uint8(btoi(r < 30))
	}
	photograph := &imageio.Image{W: side, H: side, Pix: make([]uint8, 3*side*side)}
	it, err := newSample(&Loaded{Image: photograph, Masks: [][][]uint8{{disc, cup}}}, 0)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{110, 90, 60}, []float64{it.disc.x, it.disc.y, it.disc.radius}, .1)

	rng := rand.New(rand.NewPCG(1, 2))
	smallest, largest := 1., 0.
	for range 50 {
		v := view{cx: side / 2, cy: side / 2, xu: side, yv: side, side: side, swell: Augmentation{Swell: 1}.swell(it, rng)}
		labels := make([]float32, side*side*2)
		it.sampleLabels(labels, side, v)
		var disc, cup float64
		for i := 0; i < len(labels); i += 2 {
			disc += float64(labels[i])
			cup += float64(labels[i+1])
		}
		assert.InEpsilon(t, math.Pi*60*60, disc, .01)
		ratio := math.Sqrt(cup / disc)
		smallest, largest = min(smallest, ratio), max(largest, ratio)
	}
	assert.Less(t, smallest, .4)
	assert.Greater(t, largest, .56)

	source := rand.NewPCG(1, 2)
	before := *source
	assert.Nil(t, Augmentation{}.swell(it, rand.New(source)))
	assert.Equal(t, before, *source)
	assert.Nil(t, Augmentation{Swell: 1}.swell(&Sample{}, rng), "no anchor, or not marked")
}
