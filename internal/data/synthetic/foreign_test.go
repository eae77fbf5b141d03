//go:build !js

package synthetic

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/foreign"
)

// TestWriteForeign: the folder reads as a data set with empty masks. A picture does not depend on
// the other pictures of its folder.
func TestWriteForeign(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "new", "foreign")
	s := ForeignSet{Kinds: foreign.Kinds, Classes: []string{"disc", "cup"}, Images: 20, Side: 64, Seed: 3}
	require.NoError(t, WriteForeign(t.Context(), folder, s))
	d, err := dataset.Open(folder)
	require.NoError(t, err)
	assert.Equal(t, "synthetic-foreign", d.Name)
	assert.Equal(t, s.Classes, d.Classes)
	assert.Equal(t, []string{Nobody}, d.Raters)
	assert.Len(t, d.Cases, s.Images)
	assert.Empty(t, d.Missing)
	shapes, formats := map[[2]int]bool{}, map[string]bool{}
	for _, c := range d.Cases {
		assert.Equal(t, 64, max(c.W, c.H))
		shapes[[2]int{c.W, c.H}], formats[filepath.Ext(c.Image)] = true, true
		l, err := dataset.Load(c)
		require.NoError(t, err)
		for _, mask := range l.Masks[0] {
			require.Len(t, mask, c.W*c.H)
			assert.NotContains(t, mask, uint8(1))
		}
	}
	assert.Greater(t, len(shapes), 2)
	assert.Len(t, formats, 2, "PNG and JPEG")
	report := dataset.Check(t.Context(), []string{folder}, nil)
	assert.False(t, report.Failed())

	veil, err := foreign.Find("veil")
	require.NoError(t, err)
	alone := filepath.Join(root, "alone")
	s.Kinds, s.Images = []foreign.Kind{veil}, 2
	require.NoError(t, WriteForeign(t.Context(), alone, s))
	pictures, err := filepath.Glob(filepath.Join(alone, "images", "veil_000[12].*"))
	require.NoError(t, err)
	require.Len(t, pictures, 2)
	for _, path := range pictures {
		assert.Equal(t, content(t, filepath.Join(folder, "images", filepath.Base(path))), content(t, path))
	}
	assert.ErrorContains(t, WriteForeign(t.Context(), folder, s), "not empty")
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
