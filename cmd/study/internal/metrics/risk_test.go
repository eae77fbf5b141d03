package metrics

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The curve takes the images in the order of their scores. For equal scores it is the mean over all
// orders.
func TestCurve(t *testing.T) {
	inf := math.Inf(1)
	images := []Ranked{{inf, .1}, {.5, .9}, {.2, .8}, {.5, .6}, {inf, .3}}
	var mean [5]float64
	orders := [][]int{{2, 1, 3, 0, 4}, {2, 3, 1, 0, 4}, {2, 1, 3, 4, 0}, {2, 3, 1, 4, 0}}
	for _, order := range orders {
		sum := 0.
		for i, at := range order {
			sum += images[at].Dice
			mean[i] += sum / float64(i+1) / float64(len(orders))
		}
	}
	points, area := Curve(append([]Ranked{}, images...))
	require.Len(t, points, 5)
	for i, p := range points {
		require.InDelta(t, float64(i+1)/5, p.Share, 1e-12)
		require.InDelta(t, mean[i], p.Dice, 1e-12)
		area -= p.Dice / 5
	}
	require.InDelta(t, 0, area, 1e-12)
}
