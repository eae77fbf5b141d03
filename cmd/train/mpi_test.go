package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mrprism/internal/program/cli"
	"mrprism/internal/program/programtest"
	"mrprism/internal/train"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withMPI is train with the tag mpi.
func withMPI(t *testing.T) string {
	return filepath.Join(programtest.Build(t, ".", "-tags", "mpi", "./cmd/train"), "train")
}

// mpirun is a command that starts processes by mpirun: program and arguments, divided by ":" if the
// processes differ.
func mpirun(t *testing.T, ctx context.Context, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no mpirun: make setup installs Open MPI")
		}
		t.Skip("no mpirun: install Open MPI with its headers")
	}
	c := exec.CommandContext(ctx, "mpirun", append([]string{"--oversubscribe"}, args...)...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "GOMAXPROCS=2")
	c.WaitDelay = 10 * time.Second
	return c
}

// ranked is train with the tag mpi under mpirun, and what it says.
func ranked(t *testing.T, ranks string, args ...string) (says string, err error) {
	t.Helper()
	program := withMPI(t)
	out, err := mpirun(t, t.Context(), append([]string{"-n", ranks, program}, args...)...).CombinedOutput()
	return string(out), err
}

// learned are the parameters and their moments in a checkpoint.
func learned(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, train.Checkpoint))
	require.NoError(t, err)
	file, err := weights.Decode(data)
	require.NoError(t, err)
	values := map[string][]byte{}
	for _, tensor := range file.Tensors {
		if !strings.Contains(tensor.Name, "running_") {
			values[tensor.Name] = tensor.Data
		}
	}
	return values
}

// Two processes train to the bits of one that sums two batches. TestRanksTrainLikeOne repeats it.
func TestMPI(t *testing.T) {
	data, folder := writeData(t, 5), t.TempDir()
	out := func(name string) string { return filepath.Join(folder, name) }
	says, err := ranked(t, "2", arguments(data, out("two"), "2")...)
	require.NoError(t, err, says)
	assert.Contains(t, says, "2 ranks, with 1 of the 2 batches of a step each")
	assert.Equal(t, 1, strings.Count(says, "done: "), says)
	code, _, stderr := invoke(t.Context(), arguments(data, out("one"), "2", "-accumulate", "2")...)
	require.Equal(t, cli.Done, code, stderr)
	for name, values := range learned(t, out("one")) {
		assert.True(t, string(values) == string(learned(t, out("two"))[name]), name)
	}
}

// When one process is killed, mpirun ends the other within ten seconds. The checkpoint is whole,
// and one process goes on from it.
func TestMPIKilled(t *testing.T) {
	program := withMPI(t)
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	pid := filepath.Join(t.TempDir(), "pid")
	c := mpirun(t, t.Context(), "-n", "1", program)
	c.Args = append(c.Args, arguments(data, out, "3000", "-save", "0")...)
	c.Args = append(c.Args, ":", "-n", "1", "sh", "-c", `echo $$ > "$0"; exec "$@"`, pid, program)
	c.Args = append(c.Args, arguments(data, out, "3000", "-save", "0")...)
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return train.Saved(out) >= 2 }, time.Minute, 20*time.Millisecond)
	id, err := os.ReadFile(pid)
	require.NoError(t, err)
	require.NoError(t, exec.Command("kill", "-KILL", strings.TrimSpace(string(id))).Run())
	began := time.Now()
	require.Error(t, c.Wait())
	assert.Less(t, time.Since(began), 10*time.Second)
	saved := train.Saved(out)
	require.GreaterOrEqual(t, saved, 2)
	code, _, stderr := invoke(t.Context(), "-with", out, "-resume", "-hours", "0.0001")
	require.Equal(t, cli.Done, code, stderr)
	assert.Greater(t, train.Saved(out), saved)
}

// Processes that were started with other flags, or without MPI, say so and write nothing.
func TestMPIRefuses(t *testing.T) {
	program := withMPI(t)
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	args := append([]string{"-n", "1", program}, arguments(data, out, "1")...)
	args = append(append(args, ":", "-n", "1", program), arguments(data, out, "2")...)
	says, err := mpirun(t, t.Context(), args...).CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, 1, strings.Count(string(says), "cannot train together"), "%s", says)
	assert.Contains(t, string(says), `here "64:1", there "64:2"`)
	assert.NoFileExists(t, filepath.Join(out, train.Checkpoint))

	help, err := ranked(t, "2", "-h")
	assert.NoError(t, err, help)

	c := exec.Command(program, arguments(data, out, "1")...)
	c.Env = append(os.Environ(), "SLURM_STEP_NUM_TASKS=2")
	alone, err := c.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(alone), "MPI shows each of them none of the others")
	assert.NoFileExists(t, filepath.Join(out, train.Checkpoint))

	c = process(arguments(data, out, "1")...)
	c.Env = append(c.Env, "OMPI_COMM_WORLD_SIZE=2")
	said, err := c.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(said), "built without MPI")
	assert.NoFileExists(t, filepath.Join(out, train.Checkpoint))
}
