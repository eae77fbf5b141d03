package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/program/cli"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run from a state dict of PyTorch says what starts at random. Its run.yaml names the state dict.
// With that file it resumes from its own checkpoint, and needs no state dict.
func TestNames(t *testing.T) {
	file, err := weights.Decode(readFile(t, "..", "..", "weights", "format", "torch", "testdata", "resnet.safetensors"))
	require.NoError(t, err)
	dict := &weights.File{}
	for _, v := range file.Tensors {
		if name, found := strings.CutPrefix(v.Name, "state."); found {
			v.Name = name
			dict.Tensors = append(dict.Tensors, v)
		}
	}
	encoded, err := dict.Encode()
	require.NoError(t, err)
	folder := t.TempDir()
	resnet, out := filepath.Join(folder, "resnet.safetensors"), filepath.Join(folder, "run")
	require.NoError(t, os.WriteFile(resnet, encoded, 0o644))
	code, _, stderr := invoke(t.Context(), arguments(writeData(t, 5), out, "1", "-init", resnet, "-names", "resnet", "-recipe", "baseline")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "from "+resnet+": 60 of ")
	assert.Contains(t, stderr, "at random start encoder.bridge.*, conp.*, divp.*")
	settings := filepath.Join(out, configurationName)
	assert.Contains(t, string(readFile(t, settings)), "names: resnet\n")
	require.NoError(t, os.Remove(resnet))
	code, _, stderr = invoke(t.Context(), "-with", settings, "-resume")
	require.Equal(t, cli.Done, code, stderr)

	code, _, stderr = invoke(t.Context(), "-data", "a", "-out", "b", "-names", "resnet")
	assert.Equal(t, cli.Usage, code)
	assert.Contains(t, stderr, "-names resnet translates the names in a file of PyTorch: name that file by -init")
}
