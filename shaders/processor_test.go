package shaders

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExponentials(t *testing.T) {
	var x []float32
	for v := float32(-87); v <= 88; v += 0.00317 {
		x = append(x, v)
	}
	got := append([]float32(nil), x...)
	exponentials(got)
	for i, v := range x {
		want := math.Exp(float64(v))
		require.InDelta(t, 1, float64(got[i])/want, 3*0x1p-23, "e^%g", v)
	}
	ends := []float32{-100, float32(math.Inf(-1)), 0, 100, float32(math.NaN())}
	exponentials(ends)
	require.InDelta(t, 0, ends[0], 1e-37)
	require.InDelta(t, 0, ends[1], 1e-37)
	require.EqualValues(t, 1, ends[2])
	require.Greater(t, ends[3], float32(1e38))
	require.True(t, math.IsNaN(float64(ends[4])))
}

// The largest sums that three values in one number can have do not run into each other.
func TestAddProducts(t *testing.T) {
	x, weights := make([]int64, mostProducts), make([]int8, 4*mostProducts)
	for _, values := range [][abreast]int64{{127, 127, 127}, {-127, -127, -127}, {127, -127, 127}, {-127, 127, -127}, {1, 0, -127}, {-1, -127, 0}} {
		for i := range x {
			x[i] = values[0] + values[1]<<apart + values[2]<<(2*apart)
		}
		for i := range weights {
			weights[i] = []int8{127, -127, 1, 0}[i/4%4] // of each output
		}
		sums := make([][abreast]int32, 4)
		addProducts(sums, x, weights)
		addProducts(sums, x[:4], weights)
		for n, weight := range []int64{127, -127, 1, 0} {
			for i, value := range values {
				require.EqualValues(t, (mostProducts+4)*weight*value, sums[n][i], "%d times %d", weight, value)
			}
		}
	}
}
