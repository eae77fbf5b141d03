package vector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNormalisation(t *testing.T) {
	const rows, share = 3, .25
	asLevels(t, func(l *Level) {
		for _, channels := range []int{5, 8, 24} {
			for _, relu := range []bool{false, true} {
				n := &Normalisation[float32]{Mean: random(channels, 1), R: random(channels, 2), Scale: random(channels, 3), Bias: random(channels, 4), ReLU: relu}
				size := rows * channels
				x, dy, y, dx := random(size, 5), random(size, 6), random(size+1, 7), random(size+1, 8)
				products, sums := random(size+1, 9), random(size+1, 10)
				before := [][]float32{y, dx, products, sums}
				for i, v := range before {
					before[i] = append([]float32(nil), v...)
				}
				n.Rows(y[:size], x)
				n.AddGradients(products[:size], sums, x, dy)
				n.AddGradientByX(dx[:size], x, dy, before[2], before[3], share)
				for i, v := range x {
					c := i % channels
					xHat := (v - n.Mean[c]) * n.R[c]
					want, g := xHat*n.Scale[c]+n.Bias[c], dy[i]
					if relu && want <= 0 {
						want, g = 0, 0
					}
					require.InDelta(t, want, y[i], 1e-5, l.Name)
					require.InDelta(t, before[2][i]+g*xHat, products[i], 1e-5, l.Name)
					require.InDelta(t, before[3][i]+g, sums[i], 1e-5, l.Name)
					g = n.Scale[c] * n.R[c] * (g - share*(before[3][c]+xHat*before[2][c]))
					require.InDelta(t, before[1][i]+g, dx[i], 1e-4, l.Name)
				}
				for i, v := range [][]float32{y, dx, products, sums} {
					assert.Equal(t, before[i][size], v[size], "beyond the rows nothing is written")
				}
			}
		}
	})
}
