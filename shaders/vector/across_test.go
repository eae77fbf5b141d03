package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcross(t *testing.T) {
	asLevels(t, func(l *Level) {
		for _, n := range lengths {
			for _, rows := range [][]int{{}, {0}, {2 * n, 0}, {n, 2 * n, 4 * n}} {
				x, y, other := random(5*n, 1), make([]float32, n+1), random(5*n, 2)
				before := append([]float32(nil), x...)
				if !SoftmaxAcross(x, rows, n) {
					require.False(t, moreVectors())
					require.False(t, SumProductsAcross(y[:n], x, other, rows))
					require.Equal(t, before, x)
					continue
				}
				require.True(t, SumProductsAcross(y[:n], x, other, rows))
				for j := range n {
					total, sum := 0., 0.
					for _, row := range rows {
						total += math.Exp(float64(before[row+j]))
					}
					for _, row := range rows {
						want := math.Exp(float64(before[row+j])) / total
						require.InDelta(t, want, x[row+j], 1e-6, l.Name)
						sum += want * float64(other[row+j])
						before[row+j] = x[row+j]
					}
					require.InDelta(t, sum, y[j], 1e-5, l.Name)
				}
				require.Equal(t, before, x, "other rows stay")
				require.Zero(t, y[n])
			}
		}
		y := make([]float32, 4)
		if DifferAcross(y[:3], []float32{0, 1, 1, 1, 1, 0, 0, .5, 1}, []int{0, 6, 3}) {
			require.Equal(t, []float32{1, 1, 1, 0}, y)
			DifferAcross(y, []float32{0, 1, 1, 0, 1, 1, 1, 0}, []int{0, 4})
			require.Equal(t, []float32{1, 0, 0, 0}, y)
			DifferAcross(y, y, nil)
			require.Equal(t, []float32{0, 0, 0, 0}, y)
		}
		nan := []float32{1, float32(math.NaN())}
		if SoftmaxAcross(nan, []int{0, 1}, 1) {
			require.True(t, nan[0] != nan[0] && nan[1] != nan[1], "a NaN stays")
		}
	})
}
