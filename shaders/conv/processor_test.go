package conv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The largest sums of three values in one number do not run into each other.
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
