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

	"mrprism/internal/program/cli"
	"mrprism/shaders/gpu/device"
)

// Both programs take the same step: loss and gradients agree at every side.
func TestStepBesideTorch(t *testing.T) {
	if err := findTorch(t.Context()); err != nil {
		t.Skip(err)
	}
	defer func(before []int) { stepSides = before }(stepSides)
	stepSides = []int{64, 128}
	for _, c := range []struct {
		arguments []string
		parts     []string
	}{
		{[]string{"-batch", "3"}, []string{"training step, 3×64², ", "training step, 3×128², "}},
		{[]string{"-side", "64"}, []string{"training step, 4×64², "}},
	} {
		file := filepath.Join(t.TempDir(), "steps.json")
		var out, problems bytes.Buffer
		arguments := append(c.arguments, "-config", "tiny", "-n", "2", "torch", "-device", device.Processor, "-json", file)
		require.Equal(t, cli.Done, run(t.Context(), arguments, &out, &problems), problems.String())
		assert.NotContains(t, out.String(), "(!)", "within a thousandth")
		var found report
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(content, &found))
		require.Len(t, found.Matches, len(c.parts))
		for i, m := range found.Matches {
			assert.Contains(t, m.Part, c.parts[i])
			assert.Contains(t, m.TheirsName, "PyTorch ")
			assert.Positive(t, m.Theirs.Median)
			assert.Positive(t, m.Difference, "compared")
		}
	}
}

func TestWhereThereIsNoTorch(t *testing.T) {
	defer func(before string) { python = before }(python)
	python = filepath.Join(t.TempDir(), "python3")
	code, _, stderr := call(t, "torch", "-device", device.Processor)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "apt-get install python3-torch")
	code, _, stderr = call(t, "torch", "-browser")
	assert.Equal(t, cli.Usage, code, stderr)
}

// If the steps differ, the error names the difference.
func TestApart(t *testing.T) {
	norms := map[string]float64{"a": 2, "b": 1e-6}
	difference, err := largestDifference(4, norms, torchAnswer{Loss: 4.004, Norms: map[string]float64{"a": 2.001, "b": 2e-6}})
	require.NoError(t, err)
	assert.InDelta(t, 1e-3, difference, 1e-6, "of the loss; b is rounding")
	for problem, theirs := range map[string]torchAnswer{
		"the loss is 4 here and 5 in PyTorch":       {Loss: 5, Norms: norms},
		"the gradient of a is 2 here and 2.1":       {Loss: 4, Norms: map[string]float64{"a": 2.1, "b": 1e-6}},
		"PyTorch has no gradient of ":               {Loss: 4, Norms: map[string]float64{"a": 2, "c": 1}},
		"2 parameters have gradients here and 1 in": {Loss: 4, Norms: map[string]float64{"a": 2}},
	} {
		_, err := largestDifference(4, norms, theirs)
		assert.ErrorContains(t, err, problem)
	}
}
