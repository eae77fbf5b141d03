package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The example of Shrout and Fleiss (1979): six targets, four judges, ICC(2,1) = .29.
func TestICC(t *testing.T) {
	values := [][]float64{{9, 2, 5, 8}, {6, 1, 3, 2}, {8, 4, 6, 8}, {7, 1, 2, 6}, {10, 5, 6, 9}, {6, 2, 4, 7}}
	// psych of R and pingouin of Python give .29 [.02, .76] for these (Shrout and Fleiss 1979); the
	// digits are those of the same formulas with F by SciPy 1.10.1.
	icc := ICC(values, 6)
	assert.InDeltaSlice(t, []float64{0.2897637795275592, 0.018786513374712044, 0.7610843696489528}, []float64{icc.Mean, *icc.Low, *icc.High}, 1e-9)
	assert.InDelta(t, 1, ICC([][]float64{{1, 1}, {2, 2}, {5, 5}}, 3).Mean, 1e-12)
	assert.True(t, math.IsNaN(ICC(values[:1], 1).Mean))
	assert.True(t, math.IsNaN(ICC([][]float64{{.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}, {.1, .1, .1}}, 7).Mean),
		"of equal values that no sum has exactly")
	assert.True(t, math.IsNaN(ICC([][]float64{{1, 0}, {0, 1}}, 2).Mean))
}

// Two eyes of a patient are alike, and raters who are samples too: intervals of as many units hold
// the ICC, which is 1 / (1 + .1 + .3) here.
func TestICCOfPatients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const patients, raters, times = 20, 6, 600
	held, ofEyes := 0., 0.
	for range times {
		var values [][]float64
		var habits [raters]float64
		for m := range habits {
			habits[m] = math.Sqrt(.1) * rng.NormFloat64()
		}
		for range patients {
			shared := math.Sqrt(.8) * rng.NormFloat64()
			for range 2 {
				row, eye := make([]float64, raters), shared+math.Sqrt(.2)*rng.NormFloat64()
				for m := range row {
					row[m] = eye + habits[m] + math.Sqrt(.3)*rng.NormFloat64()
				}
				values = append(values, row)
			}
		}
		for units, hits := range map[int]*float64{patients: &held, 2 * patients: &ofEyes} {
			if icc := ICC(values, units); *icc.Low <= 1/1.4 && 1/1.4 <= *icc.High {
				*hits += 1. / times
			}
		}
	}
	t.Logf("of patients %.3f, of eyes %.3f", held, ofEyes)
	assert.Greater(t, held, .93)
	assert.Less(t, ofEyes, held)
}
