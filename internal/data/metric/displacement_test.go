package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Of four raters who mark columns of a row of eight, one is aside: the others' majority does not
// move with her. A missing mask counts nowhere.
func TestDisplacements(t *testing.T) {
	row := func(from, to int) (mask []uint8) {
		mask = make([]uint8, 16)
		for x := from; x < to; x++ {
			mask[x], mask[8+x] = 1, 1
		}
		return mask
	}
	got := Displacements(8, row(0, 4), nil, row(0, 4), row(0, 4), row(3, 7))
	size := 2 * math.Sqrt(8/math.Pi)
	for m, x := range map[int]float64{0: 0, 2: 0, 3: 0, 4: 3} {
		assert.Equal(t, Displacement{x, 0, size}, got[m], m)
	}
	assert.True(t, math.IsNaN(got[1].X))
	down := Displacements(2, []uint8{1, 1, 0, 0}, []uint8{0, 0, 1, 1})
	assert.Equal(t, []float64{-1, 1}, []float64{down[0].Y, down[1].Y})
	alone := Displacements(2, []uint8{1, 1, 0, 0}, nil)
	assert.True(t, math.IsNaN(alone[0].X), "there is nobody to lie aside of")
}
