package metric

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Patterns give the same figures as the masks themselves, also of pixels after the last eight.
func TestPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	masks := make([][]uint8, 4)
	for m := range masks {
		masks[m] = make([]uint8, 1003)
		for i := 300 + 20*m; i < 700+30*m; i++ {
			masks[m][i] = uint8(rng.IntN(2))
		}
	}
	masks[3][1001] = 1
	p, votes := PatternsOf(masks...), Count(masks...)
	assert.Equal(t, 1003, p.Pixels())
	assert.LessOrEqual(t, len(p), 1<<len(masks))
	for a := range masks {
		assert.Equal(t, Area(masks[a]), p.Area(a))
		for b := range masks {
			assert.Equal(t, Dice(masks[a], masks[b]), p.Dice(a, b))
		}
	}
	tally := make(Tally, 5)
	for _, n := range votes.Count {
		tally[n]++
	}
	assert.Equal(t, tally, p.Tally())
	assert.Equal(t, 1., PatternsOf(make([]uint8, 9), make([]uint8, 9)).Dice(0, 1), "two empty masks")
}
