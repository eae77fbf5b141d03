package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The peak flows by two meters of Bland and Altman (1986): mean difference -2.1, standard deviation
// 38.8, and the mean's interval -22.0 to 17.8 l/min. Two values of a unit: components by hand,
// 12.25 between units and .5 within.
func TestBlandAltman(t *testing.T) {
	large := []float64{494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427}
	var units [][]float64
	for i, mini := range []float64{512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451} {
		units = append(units, []float64{large[i] - mini})
	}
	bias, limits := BlandAltman(units)
	for i, v := range []float64{bias.Mean, (limits[1] - limits[0]) / 2 / 1.96, *bias.Low, *bias.High} {
		require.InDelta(t, []float64{-2.1, 38.8, -22.0, 17.8}[i], v, .06)
	}
	bias, limits = BlandAltman([][]float64{{1, 2}, {5, 6}, {9}})
	require.InDelta(t, (1.5+5.5+9)/3, bias.Mean, 1e-12)
	require.InDelta(t, 1.96*math.Sqrt(12.25+.5), limits[1]-bias.Mean, 1e-12)
	bias, limits = BlandAltman([][]float64{{1, 2}})
	require.Nil(t, limits)
	require.Nil(t, bias.Low)
}
