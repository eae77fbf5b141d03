package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPanels(t *testing.T) {
	asLevels(t, func(l *Level) {
		const rows = 5
		n := Columns()
		require.LessOrEqual(t, n, MaxColumns)
		x, w, shift := random(rows*n, 1), random(rows*n, 2), random(n, 3)
		most, total, e := make([]float32, n), make([]float32, n), append([]float32(nil), x...)
		d := append([]float32(nil), x...)
		MaxOfColumns(most, x)
		ExpColumns(e, .5, shift, total)
		SoftmaxGradientColumns(d, w, shift, .25)
		for j := range n {
			largest, sum := float32(math.Inf(-1)), 0.
			for i := j; i < len(x); i += n {
				want := math.Exp(float64(x[i])/2 + float64(shift[j]))
				require.InDelta(t, want, e[i], 1e-6*want, l.Name)
				require.InDelta(t, .25*float64(w[i])*(float64(x[i])-float64(shift[j])), d[i], 1e-6, l.Name)
				largest, sum = max(largest, x[i]), sum+want
			}
			assert.Equal(t, largest, most[j], l.Name)
			assert.InDelta(t, sum, total[j], 1e-5*sum, l.Name)
		}
	})
}
