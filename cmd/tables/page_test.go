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
cell,wdnet,1,0.1,soft_dice,0.84,0.74,0.66
cell,wdnet,2,0.1,soft_dice,0.80,0.74,0.62
cell,wdnet,1,0.1,ece,0.05,0.05,0.05
cell,wdnet,1,0.1,brier,0.20,,0.10
`), 0o644))
	pages := t.TempDir()
	require.NoError(t, r.write(pages))
	text, err := os.ReadFile(filepath.Join(pages, "table1.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "## bubil-cells, 128², cell, against the mean vote")
	assert.Contains(t, string(text), "| mean vote, cross-entropy | 1 | 70.0 [60.0, 80.0] |  |  | 10.0 | 20.0 |")
	assert.Contains(t, string(text), "| Weighted Doctor Net (Guan 2018) | 2 | 73.3 [64.0, 82.0] | +4.7 [+4.0, +6.0] |")
	assert.Contains(t, string(text), "| 5.0 | 15.0 |", "the mean of the images where the figure is defined")
	assert.Equal(t, 2, strings.Count(string(text), "\n| ")-1, "a head and two rows")
	picture, err := os.ReadFile(filepath.Join(pages, "table1.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), ">wdnet<")
	assert.Contains(t, string(picture), "+4.7")
	assert.NoFileExists(t, filepath.Join(pages, "table2.md"), "one row is no table")

	overview, err := os.ReadFile(filepath.Join(pages, "overview.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(overview), ">bubil-cells cell<")
	assert.Contains(t, string(overview), `font-weight="700">+4.7<`)
	assert.Equal(t, 1, strings.Count(string(overview), "text-anchor=\"middle\""), "one row has a score")
}
