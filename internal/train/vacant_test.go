package train

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/shaders/gpu/reference"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A new run does not overwrite a finished run whose checkpoints were deleted. A folder with only
// the best export is of a run that never saved.
func TestAFinishedRunIsNotWrittenOver(t *testing.T) {
	data, files := finished(t)
	for _, name := range []string{"eyes.safetensors", "eyes.f32.safetensors"} {
		o := options(t, data)
		require.NoError(t, os.MkdirAll(o.Out, 0o755))
		path := filepath.Join(o.Out, name)
		require.NoError(t, os.WriteFile(path, files[name], 0o644))
		_, _, err := resume(t, o)
		require.EqualError(t, err, path+" exists: it is of another run, name another out for a new one")
		require.NoError(t, os.Rename(path, filepath.Join(o.Out, "eyes.best.safetensors")))
		_, _, err = resume(t, o)
		require.NoError(t, err)
	}
}

// A run does not overwrite another one that ended while it read its images.
func TestARunThatEndsMeanwhile(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	require.NoError(t, os.MkdirAll(o.Out, 0o755))
	require.NoError(t, o.vacant())
	path := filepath.Join(o.Out, Checkpoint)
	require.NoError(t, os.WriteFile(path, files[Checkpoint], 0o644))
	held, err := o.claim()
	require.ErrorContains(t, err, path+" exists: resume that run with resume")
	assert.Nil(t, held)
	o.Resume = true
	held, err = o.claim()
	require.NoError(t, err, "the folder was let go of")
	require.NoError(t, held.Close())
}

// A link in the folder of a run is refused before anything is written.
func TestLinksInARun(t *testing.T) {
	data, _ := finished(t)
	victim := filepath.Join(t.TempDir(), "profile")
	for _, name := range []string{".trial", disk.LockFile, Checkpoint, "eyes.best.safetensors", "log.jsonl", "judgement.json", "tensorboard"} {
		o := options(t, data)
		link := filepath.Join(o.Out, name)
		require.NoError(t, os.MkdirAll(o.Out, 0o755))
		require.NoError(t, os.Symlink(victim, link))
		_, err := o.claim()
		require.ErrorContains(t, err, link+" is a link")
		require.NoFileExists(t, victim)
	}
}

// A run that is resumed on another device says so.
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

// A run may start from weights of another normalisation, and a note says so.
func TestInitOfAnotherNormalisation(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	o.Init, o.Standardise = filepath.Join(t.TempDir(), "raw.safetensors"), true
	require.NoError(t, os.WriteFile(o.Init, files["eyes.f32.safetensors"], 0o644))
	_, notes, err := resume(t, o)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], o.Init+" was trained without standardise, and this run is with")
}
