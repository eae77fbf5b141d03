package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPanels(t *testing.T) {
	for _, rows := range []int{5, 4, 12} {
		testPanels(t, rows)
	}
}

func testPanels(t *testing.T, rows int) {
	asLevels(t, func(l *Level) {
		n := Columns()
		require.LessOrEqual(t, n, MaxColumns)
		x, by, shift, delta := random(rows*n, 1), random(rows*n, 2), random(n, 3), random(n, 5)
		most, total, e := make([]float32, n), make([]float32, n), append([]float32(nil), x...)
		w, d := append([]float32(nil), x...), append([]float32(nil), by...)
		r, dr, shiftOfRow, deltaOfRow := append([]float32(nil), x...), append([]float32(nil), by...), random(rows, 4), random(rows, 6)
		ExpGradientRows(r, dr, .5, shiftOfRow, deltaOfRow)
		ExpGradientColumns(w, d, .5, shift, delta)
		MaxOfColumns(most, x)
		ExpColumns(e, .5, shift, total)
		for j := range n {
			largest, sum := float32(math.Inf(-1)), 0.
			for i := j; i < len(x); i += n {
				want, power := math.Exp(float64(x[i])/2+float64(shift[j])), math.Exp2(float64(x[i])/2+float64(shift[j]))
				require.InDelta(t, power, e[i], 1e-6*power, l.Name)
				require.InDelta(t, want, w[i], 1e-6*want, l.Name)
				gradient := want / 2 * (float64(by[i]) - float64(delta[j]))
				require.InDelta(t, gradient, d[i], 1e-6*want, l.Name)
				rowWant := math.Exp(float64(x[i])/2 + float64(shiftOfRow[i/n]))
				require.InDelta(t, rowWant, r[i], 1e-6*rowWant, l.Name)
				gradient = rowWant / 2 * (float64(by[i]) - float64(deltaOfRow[i/n]))
				require.InDelta(t, gradient, dr[i], 1e-6*rowWant, l.Name)
				largest, sum = max(largest, x[i]), sum+power
			}
			assert.Equal(t, largest, most[j], l.Name)
			assert.InDelta(t, sum, total[j], 1e-5*sum, l.Name)
		}
	})
}

// A NaN score gives a NaN weight and a NaN total. Very small scores give 0.
func TestExpPanelsAtTheEnds(t *testing.T) {
	asLevels(t, func(l *Level) {
		n := Columns()
		x, shift, total := make([]float32, 2*n), make([]float32, n), make([]float32, n)
		x[0], x[n+1] = float32(math.NaN()), -1000
		rows := append([]float32(nil), x...)
		ExpColumns(x, 1, shift, total)
		ExpGradientRows(rows, make([]float32, 2*n), 1, make([]float32, 2), make([]float32, 2))
		for _, got := range [][]float32{x, rows} {
			assert.True(t, got[0] != got[0], l.Name)
			assert.InDelta(t, 0, got[n+1], 1e-37, l.Name)
			assert.EqualValues(t, 1, got[2], l.Name)
		}
		assert.True(t, total[0] != total[0], l.Name)
	})
}
