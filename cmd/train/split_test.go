package main

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/program/cli"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// run.yaml records the split. A run that repeats another under a changed split says it.
func TestSplitIsRecorded(t *testing.T) {
	data, out, again := writeData(t, 6), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "again")
	split := filepath.Join(t.TempDir(), "mine.json")
	write := func(text string) { require.NoError(t, os.WriteFile(split, []byte(text), 0o644)) }
	write(`{"train": ["case0000", "case0001"], "validation": ["case0002"], "test": ["case0003", "case0004"]}`)
	code, _, stderr := invoke(t.Context(), arguments(data, out, "1", "-split", split)...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "2 images to train on, 1 set aside to score by (synthetic-pair/case0002), 2 held out")
	assert.Contains(t, stderr, "1 of 6 images are in no list of the split, such as "+filepath.Join(data, "images", "case0005.png"))
	assert.Contains(t, stderr, "score it: evaluate -weights "+filepath.Join(out, "eyes.best.safetensors")+" -data "+data+" -split "+split+"\n")
	content := string(readFile(t, out, configurationName))
	assert.Contains(t, content, "\nsplit: "+split+"\n")
	assert.Regexp(t, `\ndivided: "2 train, 1 validation, 2 test, [0-9a-f]{8}"\n`, content)

	code, _, stderr = invoke(t.Context(), "-with", out, "-out", again)
	require.Equal(t, cli.Done, code, stderr)
	assert.NotContains(t, stderr, "had another split")
	write(`{"train": ["case0000", "case0001"], "test": ["case0003", "case0004"]}`)
	code, _, stderr = invoke(t.Context(), "-with", out, "-out", filepath.Join(t.TempDir(), "third"))
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "the run of -with had another split, 2 train, 1 validation, 2 test, ")
	code, _, stderr = invoke(t.Context(), "-with", out, "-resume")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "its images were divided otherwise")
}
