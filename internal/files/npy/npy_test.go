package npy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A map is written as NumPy's save writes it.
func TestEncode(t *testing.T) {
	want, err := os.ReadFile("testdata/c_f4.npy")
	require.NoError(t, err)
	require.Equal(t, want, Encode(2, 3, []float32{0, .125, .25, .375, .5, .625}))
}
