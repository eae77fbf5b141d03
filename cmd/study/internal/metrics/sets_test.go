package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
)

func TestMatch(t *testing.T) {
	m := Matrix{{.9, .8, .1}, {.85, .2, .1}, {.3, .4, .6}}
	assert.InDelta(t, (.85+.8+.6)/3, m.Match(), 1e-12, "the first prediction is given to the second rater")
	assert.InDelta(t, (.9+.8+.6)/3, m.Max(), 1e-12)
	assert.InDelta(t, (.9+.4)/2, Matrix{{.9, .2}, {.3, .4}, {.1, .1}}.Match(), 1e-12, "one prediction stays over")
	assert.True(t, math.IsNaN(Matrix{{.9, .2}}.Match()))
}

// The distance is 0 for equal sets, even if their members differ, and grows with the difference
// between the sets.
func TestEnergy(t *testing.T) {
	sets := func(masks ...[]uint8) (set []Bits) {
		for _, m := range masks {
			set = append(set, Pack(m))
		}
		return set
	}
	a, b, empty := []uint8{1, 1, 0, 0}, []uint8{0, 1, 1, 0}, []uint8{0, 0, 0, 0}
	assert.InDelta(t, 0, Energy(sets(a, b), sets(b, a)), 1e-12)
	assert.InDelta(t, 2*(1-1./3), Energy(sets(a), sets(b)), 1e-12)
	assert.InDelta(t, 2, Energy(sets(a), sets(empty)), 1e-12)
	assert.InDelta(t, 0, Energy(sets(empty), sets(empty)), 1e-12)
	// {a, b} against {a}: 2·(0 + ⅔)/2 − 2·⅔/4 − 0
	assert.InDelta(t, 2./3-1./3, Energy(sets(a, b), sets(a)), 1e-12)
}

// The assignment is the best of all.
func TestMatchIsTheBestOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 1 + rng.IntN(6)
		raters := 1 + rng.IntN(n)
		m := make(Matrix, n)
		for i := range m {
			for range raters {
				m[i] = append(m[i], float64(rng.IntN(8))/7)
			}
		}
		var best func(j, taken int) float64
		best = func(j, taken int) (most float64) {
			if j == raters {
				return 0
			}
			for i := range n {
				if taken>>i&1 == 0 {
					most = max(most, m[i][j]+best(j+1, taken|1<<i))
				}
			}
			return most
		}
		assert.InDelta(t, best(0, 0)/float64(raters), m.Match(), 1e-12, "%v", m)
	}
}

// Bits give the Dice of the masks that they were made of.
func TestBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 63, 64, 65, 1000} {
		a, b := make([]float32, n), make([]uint8, n)
		for i := range a {
			a[i], b[i] = rng.Float32(), uint8(rng.IntN(2))
		}
		assert.Equal(t, metric.Dice(a, b), Pack(a).Dice(Pack(b)))
		assert.Equal(t, metric.Area(a), Pack(a).Area())
	}
	assert.Equal(t, 1., Pack(make([]uint8, 9)).Dice(Pack(make([]uint8, 9))))
	assert.Panics(t, func() { Pack([]uint8{1}).Dice(Pack([]uint8{1, 0})) })
}

func TestHausdorff95(t *testing.T) {
	const w, h = 40, 30
	square := func(x0, y0, side int) []uint8 {
		m := make([]uint8, w*h)
		for y := y0; y < y0+side; y++ {
			for x := x0; x < x0+side; x++ {
				m[y*w+x] = 1
			}
		}
		return m
	}
	a := square(5, 5, 20)
	assert.Zero(t, SurfaceOf(a, a, w, h).Hausdorff95())
	assert.InDelta(t, 3, SurfaceOf(a, square(8, 5, 20), w, h).Hausdorff95(), 1e-12, "moved by three pixels")
	speck := square(5, 5, 20)
	speck[29*w+39] = 1
	assert.InDelta(t, 0, SurfaceOf(a, speck, w, h).Hausdorff95(), 1e-12, "one pixel of 77 is within the last 5 %")
	assert.Zero(t, SurfaceOf(make([]uint8, w*h), make([]uint8, w*h), w, h).Hausdorff95())
	assert.Equal(t, 50., SurfaceOf(a, make([]uint8, w*h), w, h).Hausdorff95(), "the diagonal")
}

// The search by rows finds what comparing all pairs finds.
func TestHausdorff95OfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	for range 100 {
		w, h := 1+rng.IntN(30), 1+rng.IntN(30)
		a, b := make([]uint8, w*h), make([]uint8, w*h)
		for i := range a {
			if rng.IntN(5) == 0 {
				a[i] = 1
			}
			if rng.IntN(60) == 0 {
				b[i] = 1
			}
		}
		from, to := outline(a, w, h), outline(b, w, h)
		if len(from) == 0 || len(to) == 0 {
			continue
		}
		far := func(from, to []point) float64 {
			var all []float64
			for _, p := range from {
				least := math.Inf(1)
				for _, q := range to {
					least = min(least, math.Hypot(float64(p.x-q.x), float64(p.y-q.y)))
				}
				all = append(all, least)
			}
			slices.Sort(all)
			return metric.Quantile(all, .95)
		}
		assert.InDelta(t, max(far(from, to), far(to, from)), SurfaceOf(a, b, w, h).Hausdorff95(), 1e-9)
	}
}
