package main

import (
	"testing"

	"mrprism/cmd/study/internal/studytest"

	"github.com/stretchr/testify/require"
)

// If the data has other raters than the model, heads are not compared with them. A note says it.
func TestStrangers(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	about.Raters[0], about.Raters[1] = about.Raters[1], about.Raters[0]
	code, stdout, stderr := call(t, "-weights", studytest.WeightsFile(t, about, nil), "-data", dir, "-device", "processor", "-recurrences", "0")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "of raters "+about.Raters[0]+", "+about.Raters[1])
	require.Contains(t, stderr, "is left out")
	require.NotContains(t, stdout, "each head")
}
