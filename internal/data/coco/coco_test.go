package coco

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Compressed runs are read as they are written, also by cocoapi (rleToString), which made the
// first.
func TestRunLengths(t *testing.T) {
	counts, err := Lengths("b46>00LD0<0D0<400f6")
	require.NoError(t, err)
	assert.Equal(t, []int{146, 6, 14, 6, 14, 2, 2, 2, 14, 2, 2, 2, 14, 6, 14, 6, 228}, counts)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		for i := range counts {
			counts[i] = rng.IntN(1 << rng.IntN(26))
		}
		got, err := Lengths(Text(counts))
		require.NoError(t, err)
		require.Equal(t, counts, got)
	}
}
