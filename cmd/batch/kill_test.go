package main

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/weights/disk"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// many is a variable with the number of photographs, such as 2000, for a long TestKilledWorkers
// with the weights fundus.
const many = "BATCH_MANY"

// An image that kills its process kills a second one too, and is named. The others are segmented,
// and no later run tries it, until somebody says so.
func TestPoisonedImage(t *testing.T) {
	w, in, out := untrained(t, 1), photographs(t, 10), filepath.Join(t.TempDir(), "out")
	args, faults := []string{"-weights", w, "-out", out, filepath.Join(in, "*.png")}, []string{poison + "=p04"}
	got := call(t, faults, args...)
	require.Equal(t, 1, got.code, got.stderr)
	assert.Equal(t, 2, strings.Count(got.stderr, "poisoned"), "tried twice")
	dead := table(t, filepath.Join(out, "dead-letters.csv"))
	require.Len(t, dead, 1)
	assert.Equal(t, "alone", dead[0]["step"])
	assert.Contains(t, dead[0]["error"], "p04.png kills the process, also alone: signal: killed (poisoned)")
	assert.Len(t, savedMasks(t, out), 9)

	before := filesIn(t, out)
	got = call(t, faults, args...)
	assert.Equal(t, 1, got.code, got.stderr)
	assert.NotContains(t, got.stderr, "poisoned")
	assert.Equal(t, before, filesIn(t, out))

	killed, err := filepath.Glob(filepath.Join(out, killedFolder, "*.json"))
	require.NoError(t, err)
	require.Len(t, killed, 1)
	require.NoError(t, os.Remove(killed[0]))
	got = call(t, nil, args...)
	require.Zero(t, got.code, got.stderr)
	assert.Len(t, savedMasks(t, out), 10)
}

// Of two files with one content in two processes, the second one waits and takes over what the
// first one did.
func TestOneContentInTwoProcesses(t *testing.T) {
	in, work := photographs(t, 1), t.TempDir()
	b := batch{task: Task{Weights: untrained(t, 1), Out: filepath.Join(work, "out"), Device: "processor", Workers: 1}}
	require.NoError(t, b.load())
	held, err := claim(b.task)
	require.NoError(t, err)
	defer held.Close()
	path := filepath.Join(in, "p00.png")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	key := disk.SumOf(data).SHA256
	other := flock.New(b.task.busy(key))
	require.NoError(t, other.Lock())

	t.Setenv(asProgram, "1")
	w := Worker{Task: b.task}
	w.Setup()
	got := make(chan error, 1)
	go func() {
		_, err := w.ProcessElement(context.Background(), Input{Path: path})
		got <- err
	}()
	select {
	case <-got:
		t.Fatal("it did not wait")
	case <-time.After(2 * time.Second):
	}
	mask := []byte("of the other")
	require.NoError(t, b.task.write(b.task.mask(key)+"_brain.png", mask))
	require.NoError(t, b.task.writeJSON(b.task.donePath(key), journal.Entry{Program: "the other", Weights: journal.Origin{SHA256: b.task.SHA256},
		Files: journal.Files{All: []journal.Saved{{File: key + "_brain.png", Sum: disk.SumOf(mask)}}}}))
	require.NoError(t, other.Close())
	require.NoError(t, <-got)
	e, err := journal.Read(b.task.donePath(key))
	require.NoError(t, err)
	assert.Equal(t, "the other", e.Program)
	assert.Len(t, savedMasks(t, b.task.Out), 1)
}

// Workers are killed at random while they segment, and then everything is. Killed workers stop
// nothing, and a rerun goes on where the run was. In the end all is as if nobody had killed
// anything: masks to the byte, and the table but for the dates. No image is blamed.
func TestKilledWorkers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux's /proc says which processes are the workers")
	}
	n, w, pattern := 80, untrained(t, 1), filepath.Join(photographs(t, 80), "*.png")
	if text := os.Getenv(many); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
		w, pattern = "fundus", large(t, n)
	}
	whole, out := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "out")
	begun, next := time.Now(), 0
	c, _, stderr := process(nil, "-weights", w, "-out", whole, pattern)
	require.NoError(t, watch(t, c, whole, func(done int) {
		if done >= next && done > 0 {
			next += max(n/8, 1)
			t.Logf("%4d done, %5.1f s, memory in MB: %s", done, time.Since(begun).Seconds(), memory(c.Process.Pid))
		}
	}), "%s", stderr)
	t.Logf("undisturbed: %.1f s", time.Since(begun).Seconds())

	c, _, stderr = process([]string{slow + "=20ms"}, "-weights", w, "-out", out, pattern)
	next, kills, before := 1+rand.IntN(n/8), 0, map[string]string{}
	require.Error(t, watch(t, c, out, func(done int) {
		workers := childrenOf(c.Process.Pid)
		switch {
		case done < next || len(workers) == 0:
		case kills < 3:
			victim := workers[rand.IntN(len(workers))]
			t.Logf("%4d done, worker %d of %v is killed", done, victim, workers)
			kill(victim)
			kills++
			next = finished(out) + 8 + rand.IntN(n/8) // until then the file is tried again: a second kill would name it
		default:
			t.Logf("%4d done, everything is killed", done)
			kill(c.Process.Pid)
			before = filesIn(t, filepath.Join(out, doneFolder))
			next = 10 * n
		}
	}))
	require.Contains(t, c.ProcessState.String(), "killed", "%s", stderr)
	require.Equal(t, 3, kills)

	got := call(t, nil, "-weights", w, "-out", out, pattern)
	require.Zero(t, got.code, got.stderr)
	assert.Subset(t, filesIn(t, filepath.Join(out, doneFolder)), before)
	assert.GreaterOrEqual(t, len(savedMasks(t, whole)), n)
	assert.True(t, assert.ObjectsAreEqual(savedMasks(t, whole), savedMasks(t, out)), "the masks differ")
	assert.Equal(t, undated(t, whole), undated(t, out))
	assert.Empty(t, table(t, filepath.Join(out, "dead-letters.csv")))
}

// undated is a table without its column of dates.
func undated(t *testing.T, out string) []map[string]string {
	lines := table(t, filepath.Join(out, "results.csv"))
	for _, line := range lines {
		delete(line, "date")
	}
	return lines
}

// large writes n photographs of 480 × 360 pixels and returns a pattern for them.
func large(t *testing.T, n int) (pattern string) {
	folder := t.TempDir()
	for i := range n {
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, synthetic.Photograph(uint64(i+1), 480, 360), nil))
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("p%06d.jpg", i)), b.Bytes(), 0o644))
	}
	return filepath.Join(folder, "*.jpg")
}

// watch runs a process and says again and again how many images are done. It returns how the
// process ended.
func watch(t *testing.T, c *exec.Cmd, out string, at func(done int)) error {
	require.NoError(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Millisecond):
			at(finished(out))
		}
	}
}

// finished is how many images are done.
func finished(out string) int {
	names, _ := filepath.Glob(filepath.Join(out, doneFolder, "*", "*.json"))
	return len(names)
}

// childrenOf are the processes that a process has started.
func childrenOf(parent int) (all []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, path := range threads {
		text, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(field)
			all = append(all, pid)
		}
	}
	return all
}

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// memory is what a process and each of its children hold, in MB.
func memory(parent int) (text string) {
	for _, pid := range append([]int{parent}, childrenOf(parent)...) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, _ := strings.Cut(string(status), "VmRSS:")
		if fields := strings.Fields(after); len(fields) > 0 {
			kB, _ := strconv.Atoi(fields[0])
			text += fmt.Sprintf(" %d", kB/1000)
		}
	}
	return text
}
