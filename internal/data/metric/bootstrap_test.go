package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The intervals of many columns are those of each alone.
func TestBootstrapAll(t *testing.T) {
	var columns [][]float64
	for n := range 9 {
		for shift := range 3 {
			var values []float64
			for i := range n {
				values = append(values, math.Sin(float64(i*7+shift)))
			}
			columns = append(columns, values)
		}
	}
	for i, got := range BootstrapAll(columns, 200, 3) {
		if len(columns[i]) == 0 {
			require.True(t, math.IsNaN(got.Mean))
			continue
		}
		require.Equal(t, Bootstrap(columns[i], 200, 3), got)
	}
}
