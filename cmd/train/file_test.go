package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mrprism/internal/program/cli"
	"mrprism/internal/train"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// written writes text into a file.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// parsed is the runner for the arguments.
func parsed(t *testing.T, args ...string) *runner {
	t.Helper()
	var said strings.Builder
	r := newRunner(&said)
	d := r.declare()
	rest, err := d.Parse(withFields(args))
	require.NoError(t, err)
	require.NoError(t, r.settle(d, rest))
	return r
}

// A file sets flags; the command line overrides it.
func TestFlagsFromAFile(t *testing.T) {
	wide := written(t, "\xff\xfer\x00a\x00t\x00e\x00:\x00 \x001\x00")
	assert.Equal(t, 1., parsed(t, "-with", wide, "-data", "a", "-out", "b").options.Recipe.Rate, "of an editor that writes UTF-16")
	path := written(t, "\ufeff# a study\ndata: [a, b]\nout: run\nrate: 1e-3\nphases: 64:2,128:3\nrecompute: true\nname: eyes\ntitle: 'a: b'\nseed: 18446744073709551615\n")
	o := parsed(t, "-with", path).options
	assert.Equal(t, []string{"a", "b"}, o.Data)
	assert.Equal(t, 1e-3, o.Recipe.Rate)
	assert.Equal(t, []train.Phase{{Side: 64, Epochs: 2}, {Side: 128, Epochs: 3}}, o.Phases)
	assert.True(t, o.Recompute)
	assert.Equal(t, "a: b", o.Title)
	assert.Equal(t, ^uint64(0), o.Seed)

	o = parsed(t, "-with", path, "-rate", "0.5", "-data", "c", "-recompute=false").options
	assert.Equal(t, 0.5, o.Recipe.Rate)
	assert.Equal(t, []string{"c"}, o.Data)
	assert.False(t, o.Recompute)
	assert.Equal(t, "eyes", o.Name)
	o = parsed(t, "-with", path, "-epochs", "7").options
	assert.Equal(t, []train.Phase{{Side: 128, Epochs: 7}}, o.Phases, "-epochs of the command line wins over the file's phases")

	o = parsed(t, "-with", written(t, "restyle: 0.3\n"), "-augment", "microscopy", "-data", "a", "-out", "b").options
	assert.Equal(t, []float64{.3, .7}, []float64{o.Restyle, o.Grain}, "a part beside -augment")
	o = parsed(t, "-with", written(t, "augment: scan\nrestyle: 0.3\n"), "-augment", "microscopy", "-data", "a", "-out", "b").options
	assert.Equal(t, []float64{0, .7}, []float64{o.Restyle, o.Grain}, "parts of another -augment")
}

// A run.yaml of 2026-11-22 has the flag untuned, which train no longer has.
func TestAFileOfAnEarlierVersion(t *testing.T) {
	o := parsed(t, "-with", written(t, "data: a\nout: run\nuntuned: false\nrate: 1e-3\n")).options
	assert.Equal(t, 1e-3, o.Recipe.Rate)
}

// An error in a file names the line.
func TestFilesThatAreWrong(t *testing.T) {
	for want, text := range map[string]string{
		"flags.yaml:2: there is no epoch (did you mean epochs?)":    "data: a\nepoch: 3\n",
		"flags.yaml:1: there is no learning-rate":                   "learning-rate: 3\n",
		"flags.yaml:1: there is no resume":                          "resume: true\n",
		"flags.yaml:1: there is no with":                            "with: other.yaml\n",
		"flags.yaml:3: rate is there twice":                         "rate: 1\nseed: 1\nrate: 2\n",
		"flags.yaml:1: batch: parse error":                          "batch: many\n",
		"flags.yaml:1: data: a value or a list of values is needed": "data: {a: b}\n",
		"flags.yaml: give lines such as":                            "- data\n",
		"flags.yaml: yaml:":                                         "data: [a\n",
		"schedule linear: cosine or constant":                       "schedule: linear\n",
		"ema 2: give a momentum":                                    "ema: 2\n",
		"-hours -1":                                                 "hours: -1\n",
		"no such file or directory":                                 "",
	} {
		path := written(t, text)
		if text == "" {
			path += ".missing"
		}
		code, _, stderr := invoke(t.Context(), "-data", "a", "-out", "b", "-with", path)
		assert.Equal(t, cli.Usage, code, want)
		assert.Contains(t, stderr, want)
	}
}

// YAML reads what quoted writes, in one line.
func TestQuoted(t *testing.T) {
	for _, text := range []string{
		"", "eyes", "/data/a b", "runs/a-1,b_2", "true", "No", "off", "null", "~", "1e3", "0x1f", ".inf", "64:2", "a: b", "x # y", "- a", "*a", "<b> & c", "\"q\"", "ü", "two\nlines",
		"2 train, 1 test",
	} {
		line := quoted(text)
		assert.NotContains(t, line, "\n")
		read, err := pairs([]byte("title: " + line + "\n"))
		require.NoError(t, err, line)
		assert.Equal(t, []pair{{"title", text, 1, false}}, read, line)
	}
	assert.Equal(t, []string{"0.0002", "true", "eyes"}, []string{quoted(2e-4), quoted(true), quoted("eyes")})
}

// The run.yaml of a run repeats the run to the byte; with another seed the run differs.
func TestARunIsRepeated(t *testing.T) {
	data, folder := writeData(t, 5), t.TempDir()
	first, second, third := filepath.Join(folder, "first"), filepath.Join(folder, "second"), filepath.Join(folder, "third")
	code, _, stderr := invoke(t.Context(), arguments(data, first, "2", "-seed", "5", "-rate", "0.001", "-warmup", "2", "-schedule", "constant")...)
	require.Equal(t, cli.Done, code, stderr)
	told := filepath.Join(first, configurationName)
	for _, line := range []string{"commit: unknown", "seed: 5", "rate: 0.001", "ema: 0.98", "schedule: constant", "epochs: 2", `phases: ""`, "data: " + data} {
		assert.Contains(t, string(readFile(t, told)), "\n"+line+"\n")
	}
	code, _, stderr = invoke(t.Context(), "-with", told, "-out", second)
	require.Equal(t, cli.Done, code, stderr)
	requireSame(t, first, second)
	assert.Equal(t, strings.Replace(string(readFile(t, told)), "out: "+first, "out: "+second, 1), string(readFile(t, second, configurationName)))

	code, _, stderr = invoke(t.Context(), "-with", told, "-out", third, "-seed", "6")
	require.Equal(t, cli.Done, code, stderr)
	assert.NotEqual(t, string(readFile(t, first, "eyes.safetensors")), string(readFile(t, third, "eyes.safetensors")))

	code, _, stderr = invoke(t.Context(), "-with", told, "-resume", "-rate", "0.5", "-warmup", "0")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, `rate: then "0.001", now "0.5"`)
	assert.Contains(t, stderr, `warmup: then "2", now ""`)
	assert.NotContains(t, stderr, "seed")
}

// -hours or -stop-file save the run and exit with 0. After -resume the run ends as if it had not
// been stopped.
func TestStoppedBeforeTheEnd(t *testing.T) {
	data, folder := writeData(t, 5), t.TempDir()
	straight, stopped := filepath.Join(folder, "straight"), filepath.Join(folder, "stopped")
	code, _, stderr := invoke(t.Context(), arguments(data, straight, "2")...)
	require.Equal(t, cli.Done, code, stderr)

	code, _, stderr = invoke(t.Context(), arguments(data, stopped, "2", "-hours", "1e-9")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "stopped before the end after 1e-09 hours: saved in "+stopped+"; go on: train -with "+filepath.Join(stopped, configurationName)+" -resume\n")
	assert.Equal(t, []int{1}, steps(t, stopped))

	stop := filepath.Join(stopped, "stop")
	told := []string{"-with", stopped, "-resume", "-hours", "0"} // the folder stands for its run.yaml
	require.NoError(t, os.WriteFile(stop, nil, 0o644))
	code, _, stderr = invoke(t.Context(), told...)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, stop+" is there already")
	require.NoError(t, os.Remove(stop))

	go func() {
		for end := time.Now().Add(time.Minute); lines(stopped) < 2 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		_ = os.WriteFile(stop, nil, 0o644)
	}()
	code, _, stderr = invoke(t.Context(), told...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "stopped before the end by the file "+stop)
	assert.Less(t, len(steps(t, stopped)), 4)
	require.NoError(t, os.Remove(stop))

	code, _, stderr = invoke(t.Context(), told...)
	require.Equal(t, cli.Done, code, stderr)
	requireSame(t, straight, stopped)
}

// lines counts the lines of a run's log.
func lines(folder string) int {
	data, _ := os.ReadFile(filepath.Join(folder, logName))
	return strings.Count(string(data), "\n")
}
