package paint

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFieldIsStandardNormal: at any point, on the lattice or between, over many draws.
func TestFieldIsStandardNormal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const draws = 4000
	points := [][2]float64{{0, 0}, {0.15, -0.4}, {0.98, 0.98}, {-1, 0.5}, {5, -5}}
	for _, p := range points {
		var mean, square, fourth float64
		for range draws {
			v := NewField(random, 0.3, 1).At(p[0], p[1])
			mean, square, fourth = mean+v/draws, square+v*v/draws, fourth+v*v*v*v/draws
		}
		// Four standard errors: of the mean 1/√n, of the second moment √(2/n), of the fourth √(96/n).
		assert.InDelta(t, 0, mean, 4/math.Sqrt(draws), "%v", p)
		assert.InDelta(t, 1, square, 4*math.Sqrt(2.0/draws), "%v", p)
		assert.InDelta(t, 3, fourth, 4*math.Sqrt(96.0/draws), "%v", p)
	}
	f := NewField(random, 0.3, 1)
	assert.InDelta(t, f.At(0.2, 0.1), f.At(0.2001, 0.1), 0.01, "smooth")
}
