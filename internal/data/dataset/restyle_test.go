package dataset

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noise is a picture (s, s, 3) of blobs around a colour.
func noise(s int, rng *rand.Rand, colour [3]float32) []float32 {
	pixels := make([]float32, 3*s*s)
	for i := range pixels {
		pixels[i] = colour[i%3] + .1*float32(math.Sin(float64(i)/float64(s)*3))*rng.Float32()
	}
	return pixels
}

// At degree 1 means and deviations are the other picture's, at 0 the picture's own.
func TestTakeColours(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	own, other := noise(16, rng, [3]float32{.5, .3, .2}), noise(16, rng, [3]float32{.4, .5, .6})
	for i := range other {
		other[i] *= .5
	}
	for degree, like := range map[float64][]float32{0: own, 1: other} {
		changed := slices.Clone(own)
		takeColours(changed, other, degree)
		for c := range 3 {
			mean, deviation := moments(changed[c:])
			wantMean, wantDeviation := moments(like[c:])
			assert.InDelta(t, wantMean, mean, 1e-6, "channel %d, degree %v", c, degree)
			assert.InDelta(t, wantDeviation, deviation, 1e-6, "channel %d, degree %v", c, degree)
		}
	}
	flat := make([]float32, 3*4)
	takeColours(flat, own, 1)
	assert.InDelta(t, .5, flat[0], .1, "a picture without deviation takes the mean")
}

// Low frequencies take the other's amplitudes by the degree and keep their phases; all higher
// frequencies stay.
func TestTakeAmplitudes(t *testing.T) {
	const s, reach = 24, 2
	rng := rand.New(rand.NewPCG(3, 4))
	own, other := noise(s, rng, [3]float32{.5, .3, .2}), noise(s, rng, [3]float32{.4, .5, .6})
	for _, degree := range []float64{.3, 1} {
		changed := slices.Clone(own)
		takeAmplitudes(changed, other, s, reach, degree)
		const all = s/2 - 1
		for c := range 3 {
			was, is := lowSpectrum(own[c:], waves(s), all), lowSpectrum(changed[c:], waves(s), all)
			theirs := lowSpectrum(other[c:], waves(s), all)
			for i, f := range is {
				want := was[i]
				if across, down := i/(2*all+1), i%(2*all+1)-all; across <= reach && down >= -reach && down <= reach {
					want *= complex((1-degree)+degree*cmplx.Abs(theirs[i])/cmplx.Abs(was[i]), 0)
				}
				require.InDelta(t, 0, cmplx.Abs(f-want), 1e-4, "channel %d, frequency %d, degree %v", c, i, degree)
			}
		}
	}
	var direct complex128
	for y := range s {
		for x := range s {
			direct += complex(float64(own[3*(y*s+x)]), 0) * cmplx.Exp(complex(0, -2*math.Pi*float64(2*x-y)/s))
		}
	}
	assert.InDelta(t, 0, cmplx.Abs(direct-lowSpectrum(own, waves(s), reach)[2*(2*reach+1)-1+reach]), 1e-9, "2 across, -1 down")
}

// Restyle changes the colours of its share of the views, by the seed, and neither labels nor views
// nor, of the others, a bit.
func TestRestyle(t *testing.T) {
	d, err := Open(write(t, 7))
	require.NoError(t, err)
	samples, _, err := LoadSamples(t.Context(), d, d.Training(), "disc", nil)
	require.NoError(t, err)
	batches := func(share float64) (all []*Batch) {
		a := DefaultAugmentation
		a.Restyle, a.Grain, a.Distract = share, .3, .2
		s, err := NewSampler(d, samples, Options{Size: 40, Batch: 5, Seed: 3, Augmentation: a})
		require.NoError(t, err)
		for step := range uint64(20) {
			all = append(all, s.Batch(step))
		}
		return all
	}
	without, half := batches(0), batches(.5)
	assert.Equal(t, half, batches(.5))
	changed := 0
	for i, b := range half {
		require.Equal(t, without[i].Labels, b.Labels)
		for n := range 5 {
			was, is := without[i].Images[4800*n:][:4800], b.Images[4800*n:][:4800]
			if !slices.Equal(was, is) {
				changed++
			}
			require.True(t, slices.Min(is) >= 0 && slices.Max(is) <= 1)
		}
	}
	assert.InDelta(t, 45, changed, 12, "half of 100, but some other samples are the sample itself")
}
