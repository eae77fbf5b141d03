package metrics

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpearman(t *testing.T) {
	assert.InDelta(t, 1, Spearman([]float64{1, 2, 30, 400}, []float64{-5, 0, 1, 1.5}), 1e-12)
	assert.InDelta(t, -1, Spearman([]float64{1, 2, 3}, []float64{9, 8, 1}), 1e-12)
	// ranks 0 1 2 3 4 and 1 0 3 2 4: 1 − 6·Σd²/(n(n² − 1)) = 1 − 6·4/120
	assert.InDelta(t, 0.8, Spearman([]float64{1, 2, 3, 4, 5}, []float64{2, 1, 4, 3, 5}), 1e-12)
	// ties: ranks 0.5 0.5 2 and 0 1 2; Pearson by hand: Σ = 1.5, squares 1.5 and 2
	assert.InDelta(t, 1.5/math.Sqrt(1.5*2), Spearman([]float64{7, 7, 9}, []float64{1, 2, 3}), 1e-12)
	assert.Zero(t, Spearman([]float64{1, 2, 1, 2}, []float64{1, 1, 2, 2}))
	assert.True(t, math.IsNaN(Spearman([]float64{1, 1}, []float64{1, 2})))
	assert.True(t, math.IsNaN(Spearman(nil, nil)))
}
