package training

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run that is done is not written over because its checkpoints were deleted to make room; the best export alone is of one that never saved.
func TestAFinishedRunIsNotWrittenOver(t *testing.T) {
	data, files := finished(t)
	for _, name := range []string{"eyes.safetensors", "eyes.f32.safetensors"} {
		o := options(t, data)
		require.NoError(t, os.MkdirAll(o.Out, 0o755))
		path := filepath.Join(o.Out, name)
		require.NoError(t, os.WriteFile(path, files[name], 0o644))
		_, _, err := resume(t, o)
		require.EqualError(t, err, path+" exists: it is of another run, name another -out for a new one")
		require.NoError(t, os.Rename(path, filepath.Join(o.Out, "eyes.best.safetensors")))
		_, _, err = resume(t, o)
		require.NoError(t, err)
	}
}

// A run that ends while another reads what there is to learn from is not written over by that one.
func TestARunThatEndsMeanwhile(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	require.NoError(t, os.MkdirAll(o.Out, 0o755))
	require.NoError(t, o.vacant())
	path := filepath.Join(o.Out, Checkpoint)
	require.NoError(t, os.WriteFile(path, files[Checkpoint], 0o644))
	held, err := o.claim()
	require.ErrorContains(t, err, path+" exists: resume that run with -resume")
	assert.Nil(t, held)
	o.Resume = true
	held, err = o.claim()
	require.NoError(t, err, "the folder was let go of")
	require.NoError(t, held.Close())
}

// A run that goes on elsewhere than it was computed says so.
func TestAnotherDeviceIsTold(t *testing.T) {
	o := resumable(t)
	_, notes, err := resume(t, o)
	require.NoError(t, err)
	assert.Empty(t, notes)
	path := filepath.Join(o.Out, Checkpoint)
	file, err := readCheckpoint(path)
	require.NoError(t, err)
	assert.Equal(t, computedOn(reference.Open().Info()), file.Metadata["device"])
	file.Metadata["device"] = "NVIDIA H200 [dawn, discrete GPU], 580.1"
	file.Seal()
	_, err = writeFile(path, file)
	require.NoError(t, err)
	o.Out = filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.MkdirAll(o.Out, 0o755))
	require.NoError(t, os.Rename(path, filepath.Join(o.Out, Checkpoint)))
	_, notes, err = resume(t, o)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], "was computed on NVIDIA H200 [dawn, discrete GPU], 580.1, and the run resumes on Go float64 [reference")
}

// Weights that were trained on images of another normalisation begin a run, which is told.
func TestInitOfAnotherNormalisation(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	o.Init, o.Standardise = filepath.Join(t.TempDir(), "raw.safetensors"), true
	require.NoError(t, os.WriteFile(o.Init, files["eyes.f32.safetensors"], 0o644))
	_, notes, err := resume(t, o)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], o.Init+" was trained without -standardise, and this run is with")
}
