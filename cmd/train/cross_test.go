package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/train"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run with -cross learns from all images and is judged on all of them, by runs that each set some
// aside. A run that stopped between them goes on, from the weights that the first one began from.
func TestCross(t *testing.T) {
	folder := t.TempDir()
	data, first, out := writeData(t, 6), filepath.Join(folder, "first"), filepath.Join(folder, "run")
	code, _, said := invoke(t.Context(), arguments(data, first, "1")...)
	require.Zero(t, code, said)
	model := filepath.Join(first, "eyes.safetensors")
	code, _, said = invoke(t.Context(), arguments(data, out, "1", "-init", model, "-judge", model, "-cross", "2")...)
	require.Zero(t, code, said)
	assert.Contains(t, said, "6 images to train on, 0 held out")
	assert.Contains(t, said, "3 images to train on, 3 set aside")
	judgement := func() (j train.Judgement) {
		require.NoError(t, json.Unmarshal(readFile(t, out, judgementName), &j))
		return j
	}
	whole := judgement()
	assert.Len(t, whole.Images, 6)
	assert.Equal(t, 6, whole.Groups)
	assert.Equal(t, 2, whole.Folds)
	assert.Contains(t, string(readFile(t, out, "eyes.md")), "6 images, each by the one of 2 runs that had not seen it")
	assert.NoFileExists(t, filepath.Join(out, "fold1", train.Checkpoint))

	require.NoError(t, os.Remove(filepath.Join(out, judgementName)))
	require.NoError(t, os.RemoveAll(filepath.Join(out, "fold2")))
	code, _, said = invoke(t.Context(), "-with", out, "-resume")
	require.Zero(t, code, said)
	assert.NotContains(t, said, "fold 1 of 2")
	assert.Equal(t, whole, judgement())

	for _, wrong := range [][]string{{"-cross", "2"}, {"-cross", "1", "-judge", model}, {"-cross", "2", "-judge", model, "-fold", "1/2"}, {"-cross", "2", "-judge", model, "-validate", "0.2"}} {
		code, _, said = invoke(t.Context(), arguments(data, filepath.Join(folder, "wrong"), "1", wrong...)...)
		assert.Equal(t, 2, code, said)
		assert.Contains(t, said, "-cross")
	}
}
