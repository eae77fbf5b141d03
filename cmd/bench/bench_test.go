//go:build !js

package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/cmd/bench/measure"
	"mrprism/internal/program/cli"
	"mrprism/model"
	"mrprism/shaders/gpu/gputest/browsertest"
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
	require.Equal(t, cli.Done, code, stderr)
	for _, row := range []string{"computed by  Go float64", "tiny, 4 raters, 2 classes, 64×64", "encoder ", "one recurrence ", "four passes, warm", "batch 2, recipe steered", "MiB", "GFLOP/s"} {
		assert.Contains(t, table, row)
	}
	r, err := measure.ReadReport(file)
	require.NoError(t, err)
	check(t, r, "reference")
	assert.Empty(t, r.Kernels)
	require.NotNil(t, r.Training)
	assert.Equal(t, 2, r.Training.Step.N)
	assert.Greater(t, r.Training.Step.Least, 0.0)
	assert.Greater(t, r.Training.Bytes, r.Inference.Bytes, "a step keeps activations and moments")
	assert.Greater(t, r.Training.Dispatches, r.Inference.EncoderDispatches+2*r.Inference.RecurrenceDispatches)
}

// Another precision runs beside f32. Random weights get their ranges from the picture.
func TestPrecision(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	code, table, stderr := call(t, "-device", "processor", "-precision", "int8", "-json", file)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, table, "of f32")
	r, err := measure.ReadReport(file)
	require.NoError(t, err)
	require.NotNil(t, r.Inference.ToF32)
	assert.Equal(t, 2*measure.Passes, r.Inference.ToF32.Recurrence.N)
	assert.Positive(t, r.Inference.ToF32.FourPasses.Least)
}

// A network that takes marks is also measured around marks.
func TestPassesAroundMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	code, table, stderr := call(t, "-device", "reference", "-config", "tiny-evidence", "-json", file)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, table, "one pass around marks")
	r, err := measure.ReadReport(file)
	require.NoError(t, err)
	i := r.Inference
	assert.Equal(t, []int{2 * model.Settles, 2}, []int{i.Settle.N, i.Recalibration.N})
	assert.GreaterOrEqual(t, i.Recalibration.Least, model.Settles*i.Settle.Least, "the whole is its parts")
}

func check(t *testing.T, r *measure.Report, backend string) {
	t.Helper()
	assert.Equal(t, backend, r.Backend)
	i := r.Inference
	require.NotNil(t, i)
	assert.Equal(t, []int{2, 2 * measure.Passes, 2}, []int{i.Encoder.N, i.Recurrence.N, i.FourPasses.N})
	for _, s := range []measure.Spread{i.Encoder, i.Recurrence, i.FourPasses} {
		assert.True(t, 0 < s.Least && s.Least <= s.Median && s.Median <= s.Most, "%+v", s)
	}
	assert.GreaterOrEqual(t, i.FourPasses.Least, i.Encoder.Least+measure.Passes*i.Recurrence.Least, "the whole is its parts")
	assert.Greater(t, i.EncoderDispatches, 10)
	assert.Greater(t, i.RecurrenceDispatches, 50)
	assert.Equal(t, i.EncoderDispatches+measure.Passes*i.RecurrenceDispatches+1, i.Dispatches)
	assert.Greater(t, i.Bytes, int64(100_000))
	assert.Greater(t, i.Pipelines, 10)
	assert.LessOrEqual(t, i.PipelinesMS, i.CompileMS)
	for _, s := range []measure.Spread{r.Ceilings.Arithmetic, r.Ceilings.Memory, r.Ceilings.Dispatch} {
		assert.Positive(t, s.Least)
	}
}

func TestKernels(t *testing.T) {
	folder := t.TempDir()
	base, again := filepath.Join(folder, "base.json"), filepath.Join(folder, "again.json")
	code, table, stderr := call(t, "-device", "reference", "-kernels", "-json", base)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, table, "encoder by programs")
	assert.Contains(t, table, "one recurrence by shapes")
	r, err := measure.ReadReport(base)
	require.NoError(t, err)
	dispatches := map[string]int{}
	for _, k := range r.Kernels {
		dispatches[k.Part] += k.Dispatches
		assert.Equal(t, 2, k.Time.N, k.Name)
		assert.Positive(t, k.Time.Least, k.Name)
		assert.Positive(t, k.Ceiling, k.Name)
		assert.NotEmpty(t, k.Shape, k.Name)
	}
	assert.Equal(t, map[string]int{"encoder": r.Inference.EncoderDispatches, "one recurrence": r.Inference.RecurrenceDispatches, "rater labels": 1}, dispatches)

	code, table, stderr = call(t, "-device", "reference", "-side", "128", base, "-json", again)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, table, "NOT THE SAME network: base tiny, 4 raters, 2 classes, 64×64 pixels, random weights, now tiny, 4 raters, 2 classes, 128×128")
	assert.NotContains(t, table, "NOT THE SAME device")
	code, _, stderr = call(t, "-device", "reference", filepath.Join(folder, "none.json"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "none.json")
}

func TestInBrowser(t *testing.T) {
	browsertest.Chromium(t)
	code, text, stderr := call(t, "-browser", "-json", "-")
	require.Equal(t, cli.Done, code, stderr)
	var r measure.Report
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	check(t, &r, "browser")
}

func TestMisuse(t *testing.T) {
	for _, args := range [][]string{{"-weights", "fundus"}, {"-browser", "-device", "wgpu"}, {"-n", "0"}, {"-device", "abacus"}, {"stray", "words"}, {"-train", "-recipe", "soup"}, {"-json", "/nofolder/report.json"}, {"base.json", "-json", "-"},
		{"-train", "-precision", "int8"}, {"-config", "huge"}, {"-side", "65"}, {"-side", "0"}, {"-batch", "2"}, {"-recipe", "paper"}} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, cli.Usage, code, args)
		assert.Contains(t, stderr, "see bench -h")
	}
	code, _, stderr := call(t, "-device", "reference", "-train", "-batch", "1")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "no variance")
}
