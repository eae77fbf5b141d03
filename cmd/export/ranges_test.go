package main

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The weights are written as they were, with the ranges of all convolutions that can compute in
// int8.
func TestRanges(t *testing.T) {
	folder := t.TempDir()
	scenario, err := synthetic.FindScenario("unbiased")
	require.NoError(t, err)
	data := filepath.Join(folder, "data")
	require.NoError(t, synthetic.WriteDataset(t.Context(), data, scenario, 5, 48, 3))
	about := segmenttest.Fundus()
	file, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	encoded, err := segmenttest.Encode(file)
	require.NoError(t, err)
	before, after := filepath.Join(folder, "before.safetensors"), filepath.Join(folder, "after.safetensors")
	require.NoError(t, os.WriteFile(before, encoded, 0o644))

	code, stdout, stderr := call(t, "-weights", before, "-data", data, "-ranges", after, "-mirror", "-device", "processor")
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, "from 4 training images, and nothing to doubt by")
	was, err := computing.Weights(before)
	require.NoError(t, err)
	is, err := computing.Weights(after)
	require.NoError(t, err)
	assert.ElementsMatch(t, was.Tensors, is.Tensors)
	assert.Equal(t, weights.Int8PerChannel, is.Metadata.Quantization)
	ranges := is.Metadata.Ranges
	assert.Len(t, ranges, 78,
		"13 of the encoder; a merge and a shortcut for each of two inputs, and an enlargement, in four stages; five of each of nine attentions")
	assert.Greater(t, ranges["encoder.conv1"], float32(0.5))
	assert.NotContains(t, ranges, "divp.stem")
	assert.True(t, is.Metadata.Mirrored)
	is.Metadata.Ranges, is.Metadata.Mirrored = nil, false
	assert.Equal(t, was.Metadata, is.Metadata)

	code, _, stderr = call(t, "-weights", before, "-onnx", filepath.Join(folder, "data", "..", "before.safetensors"))
	assert.Equal(t, cli.Usage, code)
	assert.Contains(t, stderr, "is there twice")

	about.Classes, about.Anchor = []string{"cell", "core"}, ""
	file, err = segmenttest.Untrained(about)
	require.NoError(t, err)
	encoded, err = segmenttest.Encode(file)
	require.NoError(t, err)
	cells := filepath.Join(folder, "cells.safetensors")
	require.NoError(t, os.WriteFile(cells, encoded, 0o644))
	code, _, stderr = call(t, "-weights", cells, "-data", data, "-ranges", after)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "segments cell, core, and synthetic-unbiased is about disc, cup")

	code, _, stderr = call(t, "-weights", before, "-data", filepath.Join(folder, "none"), "-ranges", after)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "none")
}

// The number of taken images is the wanted one; they lie between the first and nearly the last.
func TestTaken(t *testing.T) {
	for all, want := range map[int]int{1: 1, 4: 4, 32: 32, 33: 32, 62: 32, 1000: 32} {
		count, last := 0, 0
		for i := range all {
			if taken(i, all, 32) {
				count, last = count+1, i
			}
		}
		assert.Equal(t, want, count, all)
		assert.GreaterOrEqual(t, last, all-1-all/32, all)
	}
}
