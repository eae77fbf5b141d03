package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mrprism/internal/program/cli"
	"mrprism/internal/train"
	"mrprism/weights"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// operation is an operation that changes the disk.
type operation struct{ what, path string }

var temporary = regexp.MustCompile(`^\.(.+?)\.\*?\d*\*?\.tmp$`)

// file is the name that a user knows: NAME for .NAME.*.tmp.
func (o operation) file() string {
	name := filepath.Base(o.path)
	if found := temporary.FindStringSubmatch(name); found != nil {
		return found[1]
	}
	// a second name of the checkpoint, on its way to be the previous one
	return strings.TrimSuffix(name, ".new")
}

// failing makes operations fail: from the n-th on, each for which fails returns true. It returns
// the operations that succeeded, and the first that failed.
func failing(t *testing.T, n int, err error, fails func(what string) bool) (asked *[]operation, first *operation) {
	asked, first = new([]operation), new(operation)
	disk.Fault = func(what, path string) error {
		if len(*asked) < n || !fails(what) {
			*asked = append(*asked, operation{what, path})
			return nil
		}
		if *first == (operation{}) {
			*first = operation{what, path}
		}
		return err
	}
	t.Cleanup(func() { disk.Fault = nil })
	return asked, first
}

// The disk is full, or the folder read-only, from any operation on. The message names the file and
// what to do. Every file with a final name is whole. Once there is room, the run ends with the
// bytes of a run without a fault.
func TestADiskThatFailsAtAnyWrite(t *testing.T) {
	data, folder := writeData(t, 5), t.TempDir()
	begin := func(out string, more ...string) (int, string) {
		code, _, stderr := invoke(t.Context(), arguments(data, out, "1", append(more, "-recipe", "baseline")...)...)
		return code, stderr
	}
	straight := filepath.Join(folder, "straight")
	asked, _ := failing(t, math.MaxInt, nil, nil)
	code, stderr := begin(straight)
	require.Equal(t, cli.Done, code, stderr)
	all := *asked
	require.Greater(t, len(all), 40)

	every := func(string) bool { return true }
	// what is open can still be written
	names := func(what string) bool { return what != disk.Write && what != disk.Sync }
	for _, fault := range []struct {
		err   error
		fails func(what string) bool
	}{{syscall.ENOSPC, every}, {syscall.EROFS, names}} {
		for n, o := range all {
			if !fault.fails(o.what) || testing.Short() && n%8 != 0 {
				continue
			}
			out := filepath.Join(t.TempDir(), "run")
			_, first := failing(t, n, fault.err, fault.fails)
			code, stderr := begin(out)
			disk.Fault = nil
			about := fmt.Sprint(fault.err, " from ", *first, " on:\n", stderr)
			require.Contains(t, stderr, fault.err.Error(), about)
			require.Contains(t, stderr, first.file(), about)
			if slices.Contains([]string{curvesName, "eyes.md", "eyes.card.json"}, first.file()) { // all else is written by then
				require.Equal(t, cli.Done, code, about)
			} else {
				require.Equal(t, cli.Failed, code, about)
				require.Contains(t, stderr, "make room there, or let it be written to, and ", about)
			}
			require.NoFileExists(t, filepath.Join(out, train.PreviousCheckpoint+".new"), about)
			requireWhole(t, out, about)
			resumed := []string{}
			if lastStep(t, out) > 0 {
				require.True(t, code == cli.Done || strings.Contains(stderr, "-resume"), about)
				resumed = append(resumed, "-resume")
			}
			code, stderr = begin(out, resumed...)
			require.Equal(t, cli.Done, code, about+stderr)
			for _, name := range []string{train.Checkpoint, "eyes.safetensors", "eyes.f32.safetensors"} {
				require.True(t, slices.Equal(readFile(t, straight, name), readFile(t, out, name)), "%s differs: %s", name, about)
			}
			require.Equal(t, steps(t, straight), steps(t, out), about)
		}
	}
}

// requireWhole reads the files of a run.
func requireWhole(t *testing.T, out, about string) {
	t.Helper()
	require.Empty(t, unfinished(out), about)
	files, err := filepath.Glob(filepath.Join(out, "*.safetensors"))
	require.NoError(t, err)
	for _, path := range files {
		file, err := weights.Decode(readFile(t, path))
		require.NoError(t, err, about)
		require.NoError(t, file.VerifyContent(), about)
	}
	if log, err := os.ReadFile(filepath.Join(out, logName)); err == nil && len(log) > 0 {
		assert.True(t, strings.HasSuffix(string(log), "}\n"), about)
		steps(t, out)
	}
}

// If the disk is full for one step and has room before the next checkpoint, training goes on. The
// log lacks that step, and a note says so.
func TestADiskThatIsFullForAWhile(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	failed := false
	disk.Fault = func(what, path string) error {
		if failed || what != disk.Write || filepath.Base(path) != logName {
			return nil
		}
		failed = true
		return syscall.ENOSPC
	}
	defer func() { disk.Fault = nil }()
	code, _, stderr := invoke(t.Context(), arguments(data, out, "2", "-recipe", "baseline")...)
	require.Equal(t, cli.Done, code, stderr)
	require.Contains(t, stderr, "step 1 could not be recorded: write "+filepath.Join(out, logName)+": no space left on device; training goes on")
	require.Equal(t, []int{2, 3, 4}, steps(t, out))
}

// If the run cannot be saved after Ctrl-C, the program says so and fails.
func TestInterruptedOnAFullDisk(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	ctx, stop := context.WithCancel(t.Context())
	disk.Fault = func(what, path string) error {
		if strings.HasSuffix(path, logName) && what == disk.Write {
			stop()
		}
		if strings.Contains(path, train.Checkpoint) {
			return syscall.ENOSPC
		}
		return nil
	}
	defer func() { disk.Fault = nil }()
	var said bytes.Buffer
	code := run(ctx, arguments(data, out, "2", "-save", "3600"), io.Discard, &said)
	require.Equal(t, cli.Failed, code)
	require.Contains(t, said.String(), train.Checkpoint+", what was there is unchanged: ")
	require.Contains(t, said.String(), "nothing of the run was saved yet: make room there")
}
