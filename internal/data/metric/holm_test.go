package metric

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHolm(t *testing.T) {
	// By hand: .005·4, .01·3, .03·2, and .04·1 is raised to .06.
	assert.InDeltaSlice(t, []float64{.03, .06, .06, .02}, Holm([]float64{.01, .04, .03, .005}), 1e-12)
	assert.InDeltaSlice(t, []float64{1, 1, .2}, Holm([]float64{.5, .9, .2 / 3}), 1e-12, "at most 1")
	assert.InDeltaSlice(t, []float64{.2}, Holm([]float64{.2}), 1e-12)
	assert.Empty(t, Holm(nil))
}

// The p-values are those of SciPy 1.10.1:
//
//	from scipy.stats import wilcoxon
//	wilcoxon([1.83, .50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
//	         [.878, .647, .598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29], mode="exact")
//	wilcoxon([.5, -.25, .75, 1, 1.25, -1.5, 1.75, 2, .125, 2.5], mode="exact")
//	wilcoxon([((i * 37) % 23 - SHIFT) / 4 for i in range(150)], correction=True, mode="approx")
func TestWilcoxonOfSciPy(t *testing.T) {
	var paired []float64
	second := []float64{.878, .647, .598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	for i, v := range []float64{1.83, .50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30} {
		paired = append(paired, v-second[i])
	}
	assert.InDelta(t, 0.0390625, Wilcoxon(paired), 1e-12)
	assert.InDelta(t, 0.064453125, Wilcoxon([]float64{.5, -.25, .75, 1, 1.25, -1.5, 1.75, 2, .125, 2.5}), 1e-12)
	for shift, want := range map[int]float64{9: 0.0010397769887100397, 10: 0.09997202748277922} { // with ties and zeros
		var many []float64
		for i := range 150 {
			many = append(many, float64((i*37)%23-shift)/4)
		}
		assert.InDelta(t, want, Wilcoxon(many), 1e-12)
	}
}
