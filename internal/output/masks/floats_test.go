//go:build !js

package masks

import (
	"slices"
	"testing"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/npy"
	"mrprism/internal/files/tiff"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Floats are the map itself, but where a person drew.
func TestFloats(t *testing.T) {
	all, err := Structures(2, 1, []string{"disc"}, [][]float32{{.123456, 1e-6}})
	require.NoError(t, err)
	drawn := slices.Clone(all)
	require.NoError(t, drawn[0].Correct([]uint8{128, 255}, 128))
	for _, c := range []struct {
		structures []Structure
		want       []float32
	}{{all, []float32{.123456, 1e-6}}, {drawn, []float32{.123456, 1}}, {[]Structure{{Levels: []uint8{51, 255}}}, []float32{.2, 1}}} {
		d := &Drawing{Picture: &imageio.Image{W: 2, H: 1, Orientation: 1}, Structures: c.structures}
		data, err := array(d)
		require.NoError(t, err)
		assert.Equal(t, npy.Encode(1, 2, c.want), data)
		data, err = floatPages(d)
		require.NoError(t, err)
		values, w, h, full, err := tiff.Values(data, 2)
		require.NoError(t, err)
		assert.Equal(t, []any{2, 1, 0., c.want}, []any{w, h, full, values})
	}
}
