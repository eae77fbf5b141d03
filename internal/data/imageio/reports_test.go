package imageio

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReportsOfDICOM compares DICOM files, each made after a report of an error in another program,
// with the pixels that are right.
func TestReportsOfDICOM(t *testing.T) {
	expected, err := filepath.Glob(filepath.Join(vectors(t, "reports"), "expected", "*.dcm.png"))
	require.NoError(t, err)
	require.NotEmpty(t, expected)
	for _, path := range expected {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		want, err := png.Decode(bytes.NewReader(content))
		require.NoError(t, err)
		name := filepath.Base(path[:len(path)-len(".png")])
		data, err := os.ReadFile(filepath.Join(path, "..", "..", name))
		require.NoError(t, err)
		m, err := Decode(name, data)
		require.NoError(t, err)
		assert.Equal(t, Convert(want).Pix, m.Pix, name)
	}
}
