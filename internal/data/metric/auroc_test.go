package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// AUROC equals the share of ordered pairs, counted one by one, with ties and infinite scores.
func TestAUROC(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var positives, negatives []float64
		draw := func(top int) float64 {
			if rng.IntN(10) == 0 {
				return math.Inf(1)
			}
			return float64(rng.IntN(top)) / 10
		}
		for range 1 + rng.IntN(30) {
			positives = append(positives, draw(15))
		}
		for range 1 + rng.IntN(30) {
			negatives = append(negatives, draw(10))
		}
		won, pairs := 0., 0.
		for _, p := range positives {
			for _, n := range negatives {
				pairs++
				switch {
				case p > n:
					won++
				case p == n:
					won += .5
				}
			}
		}
		before := positives[0]
		assert.InDelta(t, won/pairs, AUROC(positives, negatives), 1e-12)
		assert.InDelta(t, 1-won/pairs, AUROC(negatives, positives), 1e-12)
		assert.Equal(t, before, positives[0], "what is given is not sorted in place")
	}
	assert.InDelta(t, 1, AUROC([]float64{2, math.Inf(1)}, []float64{1, 0}), 1e-12)
	assert.InDelta(t, .5, AUROC([]float64{math.Inf(1)}, []float64{math.Inf(1)}), 1e-12)
	assert.True(t, math.IsNaN(AUROC(nil, []float64{1})))
	assert.True(t, math.IsNaN(AUROC([]float64{1}, nil)))
	assert.Panics(t, func() { AUROC([]float64{math.NaN()}, []float64{1}) })
}
