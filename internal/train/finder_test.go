package train

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run keeps the finder of the weights that it begins with, also when it goes on, unless it trains
// for another anchor.
func TestRunsKeepTheFinder(t *testing.T) {
	dev := reference.Open()
	large, err := segmenttest.Untrained(segmenttest.Fundus())
	require.NoError(t, err)
	about := segmenttest.Fundus()
	about.Name, about.Classes, about.Seed = "finder", []string{"disc"}, 4
	small, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	require.NoError(t, large.Join(small))
	data, err := segmenttest.Encode(large)
	require.NoError(t, err)
	init := filepath.Join(t.TempDir(), "init.safetensors")
	require.NoError(t, os.WriteFile(init, data, 0o644))
	given, err := weights.Load(init)
	require.NoError(t, err)

	o := options(t, writeData(t, 5))
	o.Init, o.Anchor = init, "disc"
	exported := func() *weights.Model {
		m, err := weights.Load(filepath.Join(o.Out, "eyes.safetensors"))
		require.NoError(t, err)
		finder, err := m.Finder()
		require.NoError(t, err)
		return finder
	}
	train(t, dev, o, 1)
	o.Resume, o.Init = true, ""
	train(t, dev, o, 2)
	for _, tensor := range exported().Tensors {
		assert.Equal(t, given.Tensor("finder."+tensor.Name).Data, tensor.Data, tensor.Name)
	}
	o.Out, o.Resume, o.Init, o.Anchor = filepath.Join(t.TempDir(), "cups"), false, init, "cup"
	var said []string
	o.Note = func(text string) { said = append(said, text) }
	train(t, dev, o, 1)
	assert.Nil(t, exported())
	assert.Contains(t, strings.Join(said, "\n"), "stays behind: finder marks disc")
}
