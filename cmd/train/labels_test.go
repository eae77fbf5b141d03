package main

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A network learns fused labels, here the truth. Its model has one rater; scores still compare with
// the raters. Another folder of labels is another run.
func TestLabels(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	truth := filepath.Join(data, "truth")
	code, _, stderr := invoke(t.Context(), arguments(data, out, "1", "-labels", truth, "-recipe", "bce", "-fold", "2/4")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "3 images to train on, 1 set aside to score by (synthetic-pair/case0001), 1 held out; 1 rater, 2 classes")
	text, err := weights.ReadFile(filepath.Join(out, "eyes.safetensors"))
	require.NoError(t, err)
	file, err := weights.Decode(text)
	require.NoError(t, err)
	about, err := weights.ParseMetadata(file.Metadata)
	require.NoError(t, err)
	assert.Equal(t, []string{dataset.FusedRater}, about.Raters)
	assert.Contains(t, string(readFile(t, out, configurationName)), "\nlabels: "+truth+"\n")

	code, _, stderr = invoke(t.Context(), "-with", out, "-resume", "-labels", filepath.Join(data, "calibrated"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "labels: then")
	require.NoError(t, os.Remove(filepath.Join(truth, "cup", "case0002.png")))
	for want, more := range map[string][]string{
		filepath.Join(truth, "cup", "case0002.png") + ": does not exist":                 {"-labels", truth, "-recipe", "bce"},
		"-labels teaches the mask alone, and -recipe default also learns":                {"-labels", truth},
		"-labels has no raters' masks, from which -method cl learns":                     {"-labels", truth, "-method", "cl"},
		"-labels: give one folder by -data; labels are fused for one data set at a time": {"-labels", truth, "-recipe", "bce", "-data", data + "," + data},
		"-recipe recurrent also learns from each rater: add -recipe bce":                 {"-labels", truth, "-recipe", "recurrent"},
	} {
		code, _, stderr := invoke(t.Context(), arguments(data, filepath.Join(t.TempDir(), "new"), "1", more...)...)
		assert.NotEqual(t, cli.Done, code)
		assert.Contains(t, stderr, want)
	}
}
