package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run with a rival method stops, resumes with the flags of its run.yaml, and exports a model that
// knows its method and nothing that only training needs.
func TestMethodRuns(t *testing.T) {
	folder := t.TempDir()
	data, out := writeData(t, 5), filepath.Join(folder, "run")
	code, _, stderr := invoke(t.Context(), arguments(data, out, "2", "-method", "aggnet")...)
	require.Equal(t, cli.Done, code, stderr)
	settings := string(readFile(t, filepath.Join(out, configurationName)))
	assert.Contains(t, settings, "config: tiny\n")
	assert.Contains(t, settings, "method: aggnet\n")
	assert.Contains(t, settings, "recipe: bce\n")
	code, _, stderr = invoke(t.Context(), "-with", filepath.Join(out, configurationName), "-resume")
	require.Equal(t, cli.Done, code, stderr)

	file, err := weights.Decode(readFile(t, out, "eyes.f32.safetensors"))
	require.NoError(t, err)
	about, err := weights.ParseMetadata(file.Metadata)
	require.NoError(t, err)
	assert.Equal(t, "tiny-aggnet", about.Configuration)
	assert.False(t, segment.HasHeads(&about))
	for _, v := range file.Tensors {
		assert.NotContains(t, v.Name, "aggnet")
	}
	code, _, stderr = invoke(t.Context(), "-with", filepath.Join(out, configurationName), "-resume", "-method", "cl")
	assert.NotEqual(t, cli.Done, code)
	assert.Contains(t, stderr, `config: then "tiny-aggnet", now "tiny-cl"`)
}

// Flags of methods and ablations that do not fit are refused before anything is read.
func TestMethodFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-method", "best"}, "no method is named \"best\" (did you mean beal?): there are wdnet, cl"},
		{[]string{"-method", "ensemble"}, "an ensemble is several runs and no network of its own"},
		{[]string{"-method", "cl", "-recipe", "paper"}, "leave -recipe paper out"},
		{[]string{"-config", "tiny-cl"}, "give it by -method cl"},
		{[]string{"-integration", "sum"}, "use attention, concat or convlstm"},
		{[]string{"-shuffle", "0"}, "which recipe default has not"},
		{[]string{"-recipe", "recurrent", "-multi-head", "1"}, "weights of recipe recurrent have none"},
		{[]string{"-recipe", "recurrent", "-shuffle", "0.3"}, "weights of recipe recurrent have none"},
		{[]string{"-recipe", "paper", "-multi-head", "-3"}, "numbers from 0 on"},
		{[]string{"-recipe", "paper", "-rule", "best"}, "choose code, likelihood, agreement or mean"},
	} {
		code, _, stderr := invoke(t.Context(), append([]string{"-data", "a", "-out", "b"}, test.args...)...)
		assert.Equal(t, cli.Usage, code, test.args)
		assert.Contains(t, stderr, test.want)
	}
}

// The flags of Table 4 change the losses as they say.
func TestAblations(t *testing.T) {
	data, losses := writeData(t, 5), map[float64]bool{}
	tests := []struct {
		args  []string
		terms []string
	}{
		{[]string{"-recipe", "paper"}, []string{"fusion", "mask", "shuffle"}},
		{[]string{"-recipe", "paper", "-shuffle", "0", "-multi-head", "1"}, []string{"fusion", "heads", "mask"}},
		{[]string{"-recipe", "paper", "-multi-head", "1"}, []string{"fusion", "heads", "mask", "shuffle"}},
		{[]string{"-recipe", "paper", "-shuffle", "0", "-integration", "concat", "-recurrences", "1"}, []string{"fusion", "mask"}},
		{[]string{"-recipe", "paper", "-rule", "likelihood"}, []string{"fusion", "mask", "shuffle"}},
		{[]string{"-recipe", "paper", "-rule", "agreement"}, []string{"fusion", "mask", "shuffle"}},
		{[]string{"-recipe", "paper", "-rule", "mean"}, []string{"mask", "shuffle"}},
		{[]string{"-recipe", "recurrent"}, []string{"dice", "fade", "fusion"}},
	}
	for _, test := range tests {
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := invoke(t.Context(), arguments(data, out, "1", append(test.args, "-batch", "4")...)...)
		require.Equal(t, cli.Done, code, stderr)
		terms, sum := firstTerms(t, out), 0.0
		assert.Equal(t, test.terms, slices.Sorted(maps.Keys(terms)), test.args)
		for _, term := range terms {
			sum += term
		}
		losses[sum] = true
	}
	assert.Len(t, losses, len(tests), "two of them are the same")
	for want, args := range map[string][]string{"tiny-concat": nil, "tiny": {"-integration", "attention"}} { // a recipe names one, and a flag another
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := invoke(t.Context(), arguments(data, out, "1", append(args, "-recipe", "recurrent", "-batch", "4")...)...)
		require.Equal(t, cli.Done, code, stderr)
		m, err := computing.Weights(filepath.Join(out, "eyes.f32.safetensors"))
		require.NoError(t, err)
		assert.Equal(t, want, m.Metadata.Configuration)
	}
}

// firstTerms are the losses of a run's first step.
func firstTerms(t *testing.T, folder string) map[string]float64 {
	t.Helper()
	first, _, _ := bytes.Cut(readFile(t, folder, "log.jsonl"), []byte("\n"))
	var step struct{ Terms map[string]float64 }
	require.NoError(t, json.Unmarshal(first, &step))
	return step.Terms
}
