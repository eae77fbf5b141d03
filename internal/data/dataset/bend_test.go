package dataset

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (b *bend) displacement(u, v float64) (du, dv float64) {
	line := b.line(v)
	return line.displacement(u)
}

// Equal displacements of all control points shift the view; displacements proportional to the place
// stretch it (a B-spline reproduces lines).
func TestBendOfLines(t *testing.T) {
	var shift, stretch bend
	for row := range shift {
		for column := range shift[row] {
			shift[row][column] = [2]float64{.01, -.02}
			stretch[row][column] = [2]float64{.1 * float64(column), .2 * float64(row)}
		}
	}
	u0, v0 := stretch.displacement(-.5, -.5)
	for _, p := range [][2]float64{{-.5, -.5}, {.5, .5}, {.1, -.37}, {.25, .25}, {-.499, .499}} {
		du, dv := shift.displacement(p[0], p[1])
		assert.InDelta(t, .01, du, 1e-12)
		assert.InDelta(t, -.02, dv, 1e-12)
		du, dv = stretch.displacement(p[0], p[1])
		assert.InDelta(t, u0+.1*bendCells*(p[0]+.5), du, 1e-12)
		assert.InDelta(t, v0+.2*bendCells*(p[1]+.5), dv, 1e-12)
	}
}

// area is the factor by which a small square at (u, v) grows; a negative area is folded.
func (b *bend) area(u, v float64) float64 {
	const step = 1e-4
	u0, v0 := b.displacement(u, v)
	ur, vr := b.displacement(u+step, v)
	ub, vb := b.displacement(u, v+step)
	return ((step+ur-u0)*(step+vb-v0) - (vr-v0)*(ub-u0)) / (step * step)
}

// At MostElastic nothing folds, even if the left columns move right and the right columns move
// left, and rows do the same. At twice MostElastic this case folds.
func TestBendDoesNotFold(t *testing.T) {
	source := rand.NewPCG(1, 2)
	rng := rand.New(source)
	for range 200 {
		b := Augmentation{Elastic: MostElastic}.bend(rng)
		require.Positive(t, b.area(rng.Float64()-.51, rng.Float64()-.51))
	}
	squeezed := func(elastic float64) *bend {
		var b bend
		for row := range b {
			for column := range b[row] {
				b[row][column] = [2]float64{elastic, elastic}
				if column >= len(b)/2 {
					b[row][column][0] = -elastic
				}
				if row >= len(b)/2 {
					b[row][column][1] = -elastic
				}
			}
		}
		return &b
	}
	const middle = -.5 / bendCells // of the second cell, between the columns that part
	assert.InDelta(t, .4*.4, squeezed(MostElastic).area(middle, middle), 1e-3, "each way 1 - 1.5 times twice the most, in cells")
	assert.Negative(t, squeezed(2*MostElastic).area(middle, .4))

	before := *source
	assert.Nil(t, Augmentation{}.bend(rng))
	assert.Equal(t, before, *source, "nothing is drawn where nothing bends")
}
