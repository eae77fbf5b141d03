//go:build !js

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/program/cli"
	"mrprism/model"
	"mrprism/shaders/gpu/chromium"
	"mrprism/shaders/gpu/device"
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
	r, err := readReport(file)
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
	r, err := readReport(file)
	require.NoError(t, err)
	require.NotNil(t, r.Inference.ToF32)
	assert.Equal(t, 2*passes, r.Inference.ToF32.Recurrence.N)
	assert.Positive(t, r.Inference.ToF32.FourPasses.Least)
}

// A network that takes marks is also measured around marks.
func TestPassesAroundMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	code, table, stderr := call(t, "-device", "reference", "-config", "tiny-evidence", "-json", file)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, table, "one pass around marks")
	r, err := readReport(file)
	require.NoError(t, err)
	i := r.Inference
	assert.Equal(t, []int{2 * model.Settles, 2}, []int{i.Settle.N, i.Recalibration.N})
	assert.GreaterOrEqual(t, i.Recalibration.Least, model.Settles*i.Settle.Least, "the whole is its parts")
}

// Progress counts every stage: it never shows more than it has announced.
func TestStages(t *testing.T) {
	d, err := device.Open(t.Context(), device.Processor, device.Options{})
	require.NoError(t, err)
	defer d.Close()
	for _, also := range []bool{false, true} {
		o := options{Config: "tiny", Recipe: "steered", Raters: 2, Classes: 1, Side: 64, Batch: 2, Repeats: 2, Train: also, Kernels: also}
		told := 0
		_, err := bench(t.Context(), d, o, nil, func(string) { told++ })
		require.NoError(t, err)
		assert.Equal(t, (&request{options: o}).stages(0), told)
	}
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
	assert.Equal(t, i.EncoderDispatches+passes*i.RecurrenceDispatches+1, i.Dispatches)
	assert.Greater(t, i.Bytes, int64(100_000))
	assert.Greater(t, i.Pipelines, 10)
	assert.LessOrEqual(t, i.PipelinesMS, i.CompileMS)
	for _, s := range []spread{r.Ceilings.Arithmetic, r.Ceilings.Memory, r.Ceilings.Dispatch} {
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
	r, err := readReport(base)
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

	code, table, stderr = call(t, "-device", "reference", "-raters", "3", "-compare", base, "-json", again)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, table, "NOT THE SAME network: base tiny, 4 raters, 2 classes, 64×64 pixels, random weights, now tiny, 3 raters")
	assert.NotContains(t, table, "NOT THE SAME device")
	code, _, stderr = call(t, "-device", "reference", "-compare", filepath.Join(folder, "none.json"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "none.json")
}

func TestCompare(t *testing.T) {
	base := &report{
		Adapter: "A", Options: options{Config: "compact"}, Ceilings: &ceilings{}, Inference: &inferenceTimes{Encoder: spread{10, 8, 16, 5}, EncoderDispatches: 40},
		Kernels: []kernelTimes{{Part: "encoder", Name: "conv", Dispatches: 3, Time: spread{2, 1, 4, 5}}, {Part: "encoder", Name: "conv", Dispatches: 1, Time: spread{4, 3, 8, 5}}},
	}
	now := *base
	now.Adapter = "B"
	now.Inference = &inferenceTimes{Encoder: spread{5, 4, 4, 5}, EncoderDispatches: 10}
	now.Kernels = []kernelTimes{{Part: "encoder", Name: "conv", Dispatches: 1, Time: spread{5, 5, 6, 5}}}
	var out strings.Builder
	require.NoError(t, compare(&out, base, &now))
	assert.Contains(t, out.String(), "NOT THE SAME device: base A")
	assert.NotContains(t, out.String(), "NOT THE SAME network")
	assert.Regexp(t, `(?m)^encoder +0\.500 +0\.250 +0\.500 +10 +5 ms$`, out.String(), "4/16 to 4/8")
	assert.Regexp(t, `(?m)^encoder +0\.250 +40 +10 dispatches$`, out.String())
	assert.Regexp(t, `(?m)^encoder, conv +0\.500 +0\.250 +1 +10 +5 ms$`, out.String(), "5/20 to 6/6")
}

// needsChromium skips the test without Chromium. With CI=true it fails the test.
func needsChromium(t *testing.T) {
	t.Helper()
	if _, err := chromium.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestInBrowser(t *testing.T) {
	needsChromium(t)
	code, text, stderr := call(t, "-browser", "-json", "-")
	require.Equal(t, cli.Done, code, stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	check(t, &r, "browser")
}

func TestMisuse(t *testing.T) {
	for _, args := range [][]string{{"-weights", "fundus"}, {"-browser", "-device", "wgpu"}, {"-n", "0"}, {"-device", "abacus"}, {"stray"}, {"-train", "-recipe", "soup"}, {"-json", "/nofolder/report.json"}, {"-compare", "base.json", "-json", "-"},
		{"-browser", "-peers", "x", "-device", "wgpu"}, {"-peers", "x", "-train", "-browser"}, {"-train", "-precision", "int8"}, {"-config", "huge"}, {"-side", "65"}, {"-side", "0"}, {"-raters", "0"},
		{"-recompute"}, {"-batch", "2"}, {"-recipe", "paper"}, {"-peers", "x", "-kernels"}, {"-peers", "x", "-compare", "base.json"},
		{"-pack"}, {"-pack", "-packed", "x", "-weights", "cells"}} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, cli.Usage, code, args)
		assert.Contains(t, stderr, "see bench -h")
	}
	code, _, stderr := call(t, "-device", "reference", "-train", "-batch", "1")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "no variance")
}

// No code of the working directory runs: a stranger's archive may have brought a module of this
// name.
func TestSourcesAreItsOwn(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module mrprism\n"), 0o600))
	t.Chdir(folder)
	found, err := goTool(t.Context(), nil, "list", "-m", "-f", "{{.Dir}}", "mrprism")
	require.NoError(t, err)
	assert.NotEqual(t, folder, found)
	assert.FileExists(t, filepath.Join(found, "cmd", "bench", "bench_test.go"))
}
