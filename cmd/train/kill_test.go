package main

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"mrprism/internal/program/cli"
	"mrprism/internal/train"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run is killed at any moment, also while it starts or writes a checkpoint. It loses at most the
// steps after its last checkpoint, and ends with the bytes of a run that nobody killed.
func TestKill(t *testing.T) {
	kills, random := 200, rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	if testing.Short() {
		kills = 5 // each kind of moment, and the first again
	}
	epochs := strconv.Itoa(kills) // of two steps; a kill lets two steps pass at most
	data, folder := writeData(t, 5), t.TempDir()
	straight, killed := filepath.Join(folder, "straight"), filepath.Join(folder, "killed")
	began := time.Now()
	code, _, stderr := invoke(t.Context(), arguments(data, straight, epochs, "-recipe", "baseline")...)
	require.Equal(t, cli.Done, code, stderr)

	step := time.Since(began) / time.Duration(2*kills)
	farthest, torn := 0, 0
	for i := range kills {
		args := arguments(data, killed, epochs, "-recipe", "baseline")
		if _, err := os.Stat(filepath.Join(killed, train.Checkpoint)); err == nil {
			args = append(args, "-resume")
		}
		before, rests := modified(killed), unfinished(killed)
		c := process(args...)
		require.NoError(t, c.Start())
		var ended atomic.Bool
		exited := make(chan struct{})
		go func() {
			_ = c.Wait()
			ended.Store(true)
			close(exited)
		}()
		until := func(happened func() bool) { // or the run has no step left
			waitFor(t, func() bool { return ended.Load() || happened() })
		}
		switch i % 4 {
		case 0: // while it starts, goes on from a checkpoint or takes a step
			time.Sleep(time.Duration(random.Int64N(int64(3 * step))))
		case 1, 3: // while a file is being written
			files, seen := 1+random.IntN(3), unfinished(killed) // of the checkpoint and two exports
			begun := len(seen) + files
			until(func() bool {
				maps.Copy(seen, unfinished(killed))
				return len(seen) >= begun
			})
			time.Sleep(time.Duration(random.Int64N(int64(2 * time.Millisecond))))
		case 2: // in the step that follows a new checkpoint
			until(func() bool { return modified(killed) != before })
			time.Sleep(time.Duration(random.Int64N(int64(step))))
		}
		if err := c.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
		<-exited
		for path := range unfinished(killed) {
			if !rests[path] {
				torn++
			}
		}
		now := lastStep(t, killed)
		require.GreaterOrEqual(t, now, farthest, "no step is lost")
		farthest = now
	}
	t.Logf("%d kills, %d of them with a file half-written; at step %d of %d; %v", kills, torn, farthest, 2*kills, time.Since(began).Round(time.Second))
	code, _, stderr = invoke(t.Context(), arguments(data, killed, epochs, "-recipe", "baseline", "-resume")...)
	require.Equal(t, cli.Done, code, stderr)
	requireSame(t, straight, killed)
	entries, err := os.ReadDir(killed)
	require.NoError(t, err)
	assert.Len(t, entries, 11, "nothing temporary is left")
}

// unfinished are the temporary files in a run's folder: of writing that goes on or was killed.
func unfinished(folder string) map[string]bool {
	files := map[string]bool{}
	paths, _ := filepath.Glob(filepath.Join(folder, ".*.tmp"))
	for _, path := range paths {
		files[path] = true
	}
	return files
}

// modified is when a run's checkpoint was last written.
func modified(folder string) time.Time {
	info, err := os.Stat(filepath.Join(folder, train.Checkpoint))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// lastStep is the step of the checkpoint, which must be whole; 0 without a checkpoint.
func lastStep(t *testing.T, folder string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, train.Checkpoint))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	file, err := weights.Decode(data)
	require.NoError(t, err)
	require.NoError(t, file.VerifyContent())
	step, err := strconv.Atoi(file.Metadata["step"])
	require.NoError(t, err)
	return step
}
