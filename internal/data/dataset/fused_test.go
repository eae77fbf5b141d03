package dataset

import (
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fuse writes maps of a data set of n images that rise from left to right, of 16 bits for discs and
// of 8 for cups.
func fuse(t *testing.T, n int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i := range n {
		disc, cup := image.NewGray16(image.Rect(0, 0, sampleW, sampleH)), image.NewGray(image.Rect(0, 0, sampleW, sampleH))
		for y := range sampleH {
			for x := range sampleW {
				disc.SetGray16(x, y, color.Gray16{uint16(x * 65535 / (sampleW - 1))})
				cup.SetGray(x, y, color.Gray{uint8(x)})
			}
		}
		require.NoError(t, WritePNG(folder, filepath.Join("disc", name(i)+".png"), disc, png.DefaultCompression))
		require.NoError(t, WritePNG(folder, filepath.Join("cup", name(i)+".png"), cup, png.DefaultCompression))
	}
	return folder
}

// Fused labels teach as the probabilities that they are, also between pixels. The cases to score by
// keep their raters.
func TestTaught(t *testing.T) {
	d, err := Open(write(t, 6))
	require.NoError(t, err)
	taught, learn, err := d.Taught(fuse(t, 6), d.Training())
	require.NoError(t, err)
	assert.Equal(t, []string{FusedRater}, taught.Raters)
	assert.Len(t, taught.HeldOut()[0].Masks, 3)
	assert.Equal(t, []string{"a", "b", "c"}, d.Raters, "it is a copy")
	samples, left, err := LoadSamples(t.Context(), taught, learn, "disc", nil)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, samples, 5)
	s, err := NewSampler(taught, samples, Options{Size: 2 * sampleW, Batch: 1, Seed: 1})
	require.NoError(t, err)
	batch := s.Batch(0)
	assert.Equal(t, []float32{1, 1}, batch.Valid)
	between := 0
	for x := range 2 * sampleW {
		at := min(max((float64(x)+.5)/2-.5, 0), sampleW-1) // in pixels of the map
		row := batch.Labels[2*(sampleW*2*sampleW+x):]      // of the middle row
		assert.InDelta(t, at/(sampleW-1), row[0], 1./255, "disc, column %d", x)
		assert.InDelta(t, at/255, row[1], 1./255, "cup, column %d", x)
		if row[0] > .01 && row[0] < .99 {
			between++
		}
	}
	assert.Greater(t, between, sampleW)
	inside, all := samples[0].Marked(0, 2)
	assert.InDelta(t, .5, inside/all, .01)
}

// Maps that are missing, of another size, in colour or no PNG are named.
func TestTaughtRefuses(t *testing.T) {
	d, err := Open(write(t, 3))
	require.NoError(t, err)
	_, _, err = d.Taught(fuse(t, 2), d.Training())
	assert.ErrorContains(t, err, filepath.Join("disc", "eye02.png")+": does not exist")
	assert.ErrorContains(t, err, filepath.Join("cup", "eye02.png")+": does not exist")
	folder := fuse(t, 3)
	wrong := image.NewGray(image.Rect(0, 0, 3, 4))
	require.NoError(t, WritePNG(folder, filepath.Join("disc", "eye00.png"), wrong, png.DefaultCompression))
	coloured := image.NewNRGBA(image.Rect(0, 0, sampleW, sampleH))
	require.NoError(t, WritePNG(folder, filepath.Join("disc", "eye01.png"), coloured, png.DefaultCompression))
	put(t, filepath.Join(folder, "cup", "eye02.png"), []byte("a text"))
	taught, learn, err := d.Taught(folder, d.Training())
	require.NoError(t, err)
	_, left, err := LoadSamples(t.Context(), taught, learn, "", nil)
	require.NoError(t, err)
	for _, want := range []string{"eye00.png: the mask is 3×4 pixels", "eye01.png: this mask has transparent pixels", "eye02.png: this is a text file"} {
		assert.ErrorContains(t, left, want)
	}
}
