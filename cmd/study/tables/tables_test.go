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

// A table has the rows that have scores, each beside the first, and a picture of the differences.
func TestTables(t *testing.T) {
	r := &runner{out: t.TempDir(), scores: t.TempDir(), seeds: 3, steps: 600}
	require.NoError(t, os.WriteFile(filepath.Join(r.scores, "bubil-cells.csv"), []byte(`class,method,seed,kept,figure,a,b,c
cell,mean-vote,1,1,soft_dice,0.80,0.70,0.60
cell,mean-vote,1,1,ece,0.10,0.10,0.10
cell,mean-vote,1,1,brier,0.20,0.20,0.20
cell,mean-vote,2,1,soft_dice,0.80,0.70,0.60
cell,mean-vote,3,1,soft_dice,0.80,0.70,0.60
cell,wdnet,1,1,soft_dice,0.84,0.74,0.66
cell,wdnet,2,1,soft_dice,0.84,0.74,0.62
cell,wdnet,3,2,soft_dice,0.84,0.74,0.64
cell,cl,1,1,soft_dice,0.99,0.98,0.97
cell,wdnet,1,1,ece,0.05,0.05,0.05
cell,wdnet,1,1,brier,0.20,,0.10
`), 0o644))
	pages := t.TempDir()
	require.NoError(t, r.write(pages))
	text, err := os.ReadFile(filepath.Join(pages, "table1.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "bubil-cells,128,cell,mean vote,\"mean vote, cross-entropy\",3,70,45.16,94.84,,,,,,,,,10,20\r\n")
	assert.Contains(t, string(text), "Weighted Doctor Net (Guan 2018),3,74,49.16,98.84,\"mean vote, cross-entropy\",3,2,4,2.34,5.66,0.0091,0.0091,5,15\r\n", "the mean of the images where the figure is defined; two seeds came first")
	assert.Regexp(t, `crowd layer[^,]*,1,98,,,"[^"]*",1,1,28,,,,,,\r\n`, string(text), "one run has no interval and no p")
	assert.Equal(t, 4, strings.Count(string(text), "\n"), "a head and three rows")
	family, err := os.ReadFile(filepath.Join(pages, "family.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(family), "bubil-cells,128,cell,mean vote,Weighted Doctor Net (Guan 2018),3,")
	assert.NotContains(t, string(family), "crowd layer", "one run proves nothing")
	picture, err := os.ReadFile(filepath.Join(pages, "table1.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), ">wdnet<")
	assert.Contains(t, string(picture), "+4.0")
	assert.NoFileExists(t, filepath.Join(pages, "table2.csv"), "one row is no table")

	overview, err := os.ReadFile(filepath.Join(pages, "overview.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(overview), ">bubil-cells cell<")
	assert.Contains(t, string(overview), `font-weight="700">+4.0<`)
	assert.Contains(t, string(overview), `font-weight="400">+28.0<`, "one run proves nothing")

	require.NoError(t, os.WriteFile(filepath.Join(r.scores, "ceilings.csv"), []byte("data,structure,soft_dice\nbubil-cells,cell,79.5\n"), 0o644))
	require.NoError(t, r.write(pages))
	text, err = os.ReadFile(filepath.Join(pages, "table1.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(text), ",p_holm,perfect,ece,")
	assert.Contains(t, string(text), "2.34,5.66,0.0091,0.0091,79.5,5,15\r\n")
	picture, err = os.ReadFile(filepath.Join(pages, "table1.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), "a perfect model +9.5", "less the first row's 70")
}
