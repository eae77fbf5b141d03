package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An image that kills the process is tried alone in the next run, kills that process too, and is
// named. The others are segmented, and no later run tries it, until somebody says so.
func TestPoisonedImage(t *testing.T) {
	w, in, out := untrained(t, 1), photographs(t, 10), filepath.Join(t.TempDir(), "out")
	args, faults := []string{"-weights", w, "-out", out, filepath.Join(in, "*.png")}, []string{poison + "=p04"}
	require.Equal(t, -1, call(t, faults, args...).code, "the first run is killed")
	left, err := os.ReadDir(filepath.Join(out, startedFolder))
	require.NoError(t, err)
	require.NotEmpty(t, left)

	got := call(t, faults, args...)
	require.Equal(t, 1, got.code, got.stderr)
	assert.Contains(t, got.stderr, "p04.png was in work when an earlier run died; it is tried alone")
	dead := table(t, filepath.Join(out, "dead-letters.csv"))
	require.Len(t, dead, 1)
	assert.Equal(t, "alone", dead[0]["step"])
	assert.Contains(t, dead[0]["error"], "p04.png kills the process, also alone: signal: killed")
	assert.Len(t, masks(t, out), 9)

	before := written(t, out)
	got = call(t, faults, args...)
	assert.Equal(t, 1, got.code, got.stderr)
	assert.NotContains(t, got.stderr, "alone;")
	assert.Equal(t, before, written(t, out))

	killed, err := filepath.Glob(filepath.Join(out, killedFolder, "*.json"))
	require.NoError(t, err)
	require.Len(t, killed, 1)
	require.NoError(t, os.Remove(killed[0]))
	got = call(t, nil, args...)
	require.Zero(t, got.code, got.stderr)
	assert.Len(t, masks(t, out), 10)
}

// A run that is killed from outside goes on where it was: what was done stays, and in the end all
// is as if nobody had killed it. No image is blamed.
func TestResumeAfterKill(t *testing.T) {
	w, all, work := untrained(t, 1), filepath.Join(photographs(t, 30), "*.png"), t.TempDir()
	out, whole := filepath.Join(work, "out"), filepath.Join(work, "whole")
	c, _, stderr := process([]string{slow + "=50ms"}, "-weights", w, "-out", out, all)
	require.NoError(t, c.Start())
	done := func() int {
		names, _ := filepath.Glob(filepath.Join(out, doneFolder, "*", "*.json"))
		return len(names)
	}
	require.Eventually(t, func() bool { return done() >= 5 }, time.Minute, 5*time.Millisecond, "%s", stderr)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	require.Less(t, done(), 30)
	before := written(t, filepath.Join(out, doneFolder))

	got := call(t, nil, "-weights", w, "-out", out, all)
	require.Zero(t, got.code, got.stderr)
	assert.Contains(t, got.stderr, "tried alone")
	assert.Subset(t, written(t, filepath.Join(out, doneFolder)), before)
	require.Zero(t, call(t, nil, "-weights", w, "-out", whole, all).code)
	assert.Len(t, masks(t, whole), 30)
	assert.Equal(t, masks(t, whole), masks(t, out))
	started, err := os.ReadDir(filepath.Join(out, startedFolder))
	require.NoError(t, err)
	assert.Empty(t, started)
}
