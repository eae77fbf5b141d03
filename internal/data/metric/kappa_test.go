package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Kappa equals its definition for pairs of raters who agree, and for raters who draw at random with
// equal shares.
func TestFleissKappa(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	masks := make([][]uint8, 4)
	for m := range masks {
		masks[m] = make([]uint8, 50)
		for i := range masks[m] {
			if rng.Float64() < .3 || i < 15 {
				masks[m][i] = 1
			}
		}
	}
	pairs, agreed, marked := 0., 0., 0.
	for i := range masks[0] {
		for a := range masks {
			marked += float64(masks[a][i]) / 200
			for b := range masks {
				if a != b {
					pairs++
					if masks[a][i] == masks[b][i] {
						agreed++
					}
				}
			}
		}
	}
	chance := marked*marked + (1-marked)*(1-marked)
	fleiss := func(masks ...[]uint8) float64 { return PatternsOf(masks...).Tally().FleissKappa() }
	assert.InDelta(t, (agreed/pairs-chance)/(1-chance), fleiss(masks...), 1e-12)
	assert.InDelta(t, 1, fleiss([]uint8{1, 0}, []uint8{1, 0}), 1e-12)
	assert.InDelta(t, -1, fleiss([]uint8{1, 0}, []uint8{0, 1}), 1e-12)
	assert.True(t, math.IsNaN(PatternsOf([]uint8{1, 0}, []uint8{1, 0}).Tally().Union().FleissKappa()), "all marked all")
	assert.True(t, math.IsNaN(fleiss(nil, nil)), "no pixels")
	assert.True(t, math.IsNaN(fleiss([]uint8{1, 0})))
}

// Cohen's kappa of two raters is its definition: 20 pixels, of which both marked 8 and one 3 more.
func TestCohenKappa(t *testing.T) {
	a, b := make([]uint8, 20), make([]uint8, 20)
	for i := range 11 {
		a[i] = 1
		b[i] = uint8(min(1, i/3))
	}
	chance := (11*8 + 9*12) / 400.
	assert.InDelta(t, (17./20-chance)/(1-chance), PatternsOf(a, b).Kappa(0, 1), 1e-12)
	assert.True(t, math.IsNaN(PatternsOf([]uint8{0, 0}, []uint8{0, 0}).Kappa(0, 1)))
}
