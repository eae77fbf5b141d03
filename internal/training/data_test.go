package training

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/gpu/reference"
)

// Files that cannot be read, by their header or by their pixels, end a run before its first step, every one named. Where they are to be
// skipped, the run is that on a folder without them, but for what is held out, which stays so.
func TestSkipBad(t *testing.T) {
	data := writeData(t, 7) // case0004 is held out
	header := filepath.Join(data, "images", "case0000.png")
	pixels := filepath.Join(data, "raters", "bob", "cup", "case0002.png")
	require.NoError(t, os.WriteFile(header, []byte("a text"), 0o644))
	sound, err := os.ReadFile(pixels)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pixels, sound[:len(sound)-20], 0o644))

	o := options(t, data)
	o.Phases = []Phase{{64, 1}}
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, header)

	o.SkipBad = true
	trainer, notes, err := resume(t, o)
	require.NoError(t, err)
	assert.Equal(t, 4, trainer.Images())
	assert.Len(t, trainer.Dataset.HeldOut(), 1)
	assert.Equal(t, "case0004", trainer.Dataset.HeldOut()[0].Name)
	said := strings.Join(notes, "\n")
	assert.Contains(t, said, header)
	assert.Contains(t, said, pixels)
	trainer.Close()

	train(t, reference.Open(), o, 2)
	again := o
	again.Out = filepath.Join(t.TempDir(), "again")
	train(t, reference.Open(), again, 1)
	again.Resume = true
	train(t, reference.Open(), again, 2)
	requireSame(t, o.Out, again.Out)

	for _, name := range []string{"case0001", "case0003", "case0005", "case0006"} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "images", name+".png"), []byte("a text"), 0o644))
	}
	o.Out = filepath.Join(t.TempDir(), "none")
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "none of the images")
}
