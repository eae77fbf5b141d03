//go:build !js

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/chromium"
	"mrprism/internal/command"
)

// call runs the program with the smallest network.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"-config", "tiny", "-side", "64", "-n", "2"}, args...), &out, &err)
	return code, out.String(), err.String()
}

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	code, table, stderr := call(t, "-device", "reference", "-train", "-batch", "2", "-json", file)
	require.Equal(t, command.Done, code, stderr)
	for _, row := range []string{"computed by  Go float64", "tiny, 4 raters, 2 classes, 64×64", "encoder ", "one recurrence ", "four passes, warm", "training step, batch 2", "MiB"} {
		assert.Contains(t, table, row)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(text, &r))
	check(t, &r, "reference")
	require.NotNil(t, r.Training)
	assert.Equal(t, 2, r.Training.Step.N)
	assert.Greater(t, r.Training.Step.Least, 0.0)
	assert.Greater(t, r.Training.Bytes, r.Inference.Bytes, "a step keeps activations and moments")
	assert.Greater(t, r.Training.Dispatches, r.Inference.EncoderDispatches+2*r.Inference.RecurrenceDispatches)
}

func check(t *testing.T, r *report, backend string) {
	t.Helper()
	assert.Equal(t, backend, r.Backend)
	i := r.Inference
	require.NotNil(t, i)
	assert.Equal(t, []int{2, 2 * passes, 2}, []int{i.Encoder.N, i.Recurrence.N, i.FourPasses.N})
	for _, s := range []spread{i.Encoder, i.Recurrence, i.FourPasses} {
		assert.True(t, 0 < s.Least && s.Least <= s.Median && s.Median <= s.Most, "%+v", s)
	}
	assert.GreaterOrEqual(t, i.FourPasses.Least, i.Encoder.Least+passes*i.Recurrence.Least, "the whole is its parts")
	assert.Greater(t, i.EncoderDispatches, 10)
	assert.Greater(t, i.RecurrenceDispatches, 50)
	assert.Greater(t, i.Bytes, int64(100_000))
}

func TestInBrowser(t *testing.T) {
	if _, err := chromium.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	code, text, stderr := call(t, "-browser", "-json", "-")
	require.Equal(t, command.Done, code, stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	check(t, &r, "browser")
}

func TestMisuse(t *testing.T) {
	for _, args := range [][]string{{"-weights", "fundus"}, {"-browser", "-device", "wgpu"}, {"-n", "0"}, {"-device", "abacus"}, {"stray"}} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, command.Usage, code, args)
		assert.Contains(t, stderr, "see bench -h")
	}
	code, _, stderr := call(t, "-device", "reference", "-side", "65")
	assert.Equal(t, command.Failed, code)
	assert.Contains(t, stderr, "65")
	code, _, stderr = call(t, "-device", "reference", "-train", "-batch", "1")
	assert.Equal(t, command.Failed, code)
	assert.Contains(t, stderr, "no variance")
}

func TestSpread(t *testing.T) {
	assert.Equal(t, spread{Median: 2.5, Least: 1, Most: 9, N: 4}, spreadOf([]float64{3, 9, 1, 2}))
	assert.Equal(t, spread{Median: 3, Least: 1, Most: 9, N: 3}, spreadOf([]float64{3, 9, 1}))
}
