package main

import (
	"path/filepath"
	"testing"

	"mrprism/internal/program/cli"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A dry run prints the cost of training and writes nothing.
func TestDryRun(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := invoke(t.Context(), arguments(data, out, "1", "-dry-run")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Regexp(t, `64² +\d+ MiB +[\d.]+ s +[\d.]+ +[\d.]+ % +\d+m?\d*s\n`, stdout)
	assert.Regexp(t, `the run: \d+ MiB of GPU memory at most`, stdout)
	assert.NoDirExists(t, out)
}
