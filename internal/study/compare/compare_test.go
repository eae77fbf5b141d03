package compare

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"mrprism/internal/study/statistics"

	"github.com/stretchr/testify/require"
)

func encoded(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// What a map states of itself, by hand.
func TestStatedDice(t *testing.T) {
	require.InDelta(t, 2*2.5/(3+2.5), statedDice([]float32{1, .75, .75, 0, 0, 0}), 1e-12)
	require.Equal(t, 1., statedDice(make([]float32, 4)))
	require.Zero(t, statedDice([]float32{.5, 0}))
}

// A gallery keeps the images of the largest ranks, however many are offered.
func TestGallery(t *testing.T) {
	var g gallery
	for i := range 50 {
		if rank := float64(i * 17 % 50); g.wants(rank) {
			g.add(&exhibit{rank: rank})
		}
	}
	require.Equal(t, []float64{49, 48, 47}, statistics.Tabulate(len(g.exhibits), func(i int) float64 { return g.exhibits[i].rank }))
}
