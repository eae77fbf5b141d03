package compare

import (
	"bytes"
	"image"
	"image/png"
	"testing"

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
