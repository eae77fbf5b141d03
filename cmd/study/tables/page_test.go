//go:build !js

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page has the rows that have scores, each beside the first, and a picture of the differences.
func TestPage(t *testing.T) {
	r := &runner{out: t.TempDir(), scores: t.TempDir(), seeds: 3, steps: 600}
	require.NoError(t, os.WriteFile(filepath.Join(r.scores, "bubil-cells.csv"), []byte(`class,method,seed,step_seconds,figure,a,b,c
cell,mean-vote,1,0.1,soft_dice,0.80,0.70,0.60
cell,mean-vote,1,0.1,ece,0.10,0.10,0.10
cell,mean-vote,1,0.1,brier,0.20,0.20,0.20
cell,mean-vote,2,0.1,soft_dice,0.80,0.70,0.60
cell,mean-vote,3,0.1,soft_dice,0.80,0.70,0.60
cell,wdnet,1,0.1,soft_dice,0.84,0.74,0.66
cell,wdnet,2,0.1,soft_dice,0.84,0.74,0.62
cell,wdnet,3,0.1,soft_dice,0.84,0.74,0.64
cell,cl,1,0.1,soft_dice,0.99,0.98,0.97
cell,wdnet,1,0.1,ece,0.05,0.05,0.05
cell,wdnet,1,0.1,brier,0.20,,0.10
`), 0o644))
	pages := t.TempDir()
	require.NoError(t, r.write(pages))
	text, err := os.ReadFile(filepath.Join(pages, "table1.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "## bubil-cells, 128², cell, against the mean vote")
	assert.Contains(t, string(text), "| mean vote, cross-entropy | 3 | 70.0 [45.2, 94.8] |  |  | 10.0 | 20.0 |")
	assert.Contains(t, string(text), "| Weighted Doctor Net (Guan 2018) | 3 | 74.0 [49.3, 98.7] | +4.0 [+2.3, +5.7] | .009 |")
	assert.Regexp(t, `crowd layer[^|]*\| 1 \| 98.0 [^|]*\| \+28.0 [^|]*\| one run \|`, string(text))
	assert.Contains(t, string(text), "| 5.0 | 15.0 |", "the mean of the images where the figure is defined")
	assert.Equal(t, 2, strings.Count(string(text), "\n| ")-2, "a head and three rows")
	survivors, err := os.ReadFile(filepath.Join(pages, "survivors.md"))
	require.NoError(t, err)
	assert.Contains(t, string(survivors), "| bubil-cells, 128² | cell | Weighted Doctor Net (Guan 2018) | 3 | +4.0 [+2.3, +5.7] | mean vote, cross-entropy | .009 |\n")
	assert.NotContains(t, string(survivors), "crowd layer", "one run proves nothing")
	picture, err := os.ReadFile(filepath.Join(pages, "table1.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), ">wdnet<")
	assert.Contains(t, string(picture), "+4.0")
	assert.NoFileExists(t, filepath.Join(pages, "table2.md"), "one row is no table")

	overview, err := os.ReadFile(filepath.Join(pages, "overview.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(overview), ">bubil-cells cell<")
	assert.Contains(t, string(overview), `font-weight="700">+4.0<`)
	assert.Contains(t, string(overview), `font-weight="400">+28.0<`, "one run proves nothing")
}
