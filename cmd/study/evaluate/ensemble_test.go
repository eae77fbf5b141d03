package main

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Models with plus signs between them are scored as one. Twice the same model scores as that model.
func TestScoresOfAnEnsemble(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	file := studytest.WeightsFile(t, about, nil)
	about.Seed = 2
	other := studytest.WeightsFile(t, about, nil)
	scores := func(weights string) string {
		table := filepath.Join(t.TempDir(), "scores.csv")
		code, _, stderr := call(t, "-weights", weights, "-data", dir, "-device", "processor", "-recurrences", "0", "-csv", table)
		require.Zero(t, code, stderr)
		data, err := os.ReadFile(table)
		require.NoError(t, err)
		return string(data)
	}
	alone := scores(file)
	assert.Equal(t, alone, scores(file+"+"+file))
	assert.NotEqual(t, alone, scores(file+" + "+other))

	code, _, stderr := call(t, "-weights", file+"+"+studytest.WeightsFile(t, segmenttest.Fundus(), nil), "-data", dir)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "different raters: an ensemble is of models that make the same maps")
}

// A plus sign in a file's own name is part of the name.
func TestPlusSignInAName(t *testing.T) {
	file := studytest.WeightsFile(t, segmenttest.Raters(), nil)
	renamed := filepath.Join(t.TempDir(), "a+b.safetensors")
	require.NoError(t, os.Rename(file, renamed))
	m, err := segment.LoadEnsemble(renamed)
	require.NoError(t, err)
	assert.Empty(t, m.Others)
	_, err = segment.LoadEnsemble("fundus+nowhere")
	assert.ErrorContains(t, err, "nowhere")
}
