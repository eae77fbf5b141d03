package dataset

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Points that move alike shift the view, points that move with their place stretch it (a B-spline reproduces lines).
func TestBendOfLines(t *testing.T) {
	var shift, stretch bend
	for row := range shift {
		for column := range shift[row] {
			shift[row][column] = [2]float64{.01, -.02}
			stretch[row][column] = [2]float64{.1 * float64(column), .2 * float64(row)}
		}
	}
	u0, v0 := stretch.at(-.5, -.5)
	for _, p := range [][2]float64{{-.5, -.5}, {.5, .5}, {.1, -.37}, {.25, .25}, {-.499, .499}} {
		du, dv := shift.at(p[0], p[1])
		assert.InDelta(t, .01, du, 1e-12)
		assert.InDelta(t, -.02, dv, 1e-12)
		du, dv = stretch.at(p[0], p[1])
		assert.InDelta(t, u0+.1*bendCells*(p[0]+.5), du, 1e-12)
		assert.InDelta(t, v0+.2*bendCells*(p[1]+.5), dv, 1e-12)
	}
}

// At the most that is allowed, what lies right of a point stays right of it, and what lies below stays below.
func TestBendDoesNotFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const step = 1e-3
	for range 200 {
		b := Augmentation{Elastic: MostElastic}.bend(rng)
		u, v := rng.Float64()-.5-step, rng.Float64()-.5-step
		u0, v0 := b.at(u, v)
		ur, vr := b.at(u+step, v)
		ub, vb := b.at(u, v+step)
		area := (step+ur-u0)*(step+vb-v0) - (vr-v0)*(ub-u0)
		require.Positive(t, area)
	}
	assert.Nil(t, Augmentation{}.bend(rng), "nothing is drawn where nothing bends")
}
