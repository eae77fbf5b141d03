//go:build !js

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeComparison writes a comparison of two images, and the logs of the runs that it scores.
func writeComparison(t *testing.T, r *runner, d data, seed int, rows ...string) {
	t.Helper()
	folder := r.compared(d, seed)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	text := "folder,image,class,method,pass,soft_dice,brier,ece\n" + strings.Join(rows, "\n") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cases.csv"), []byte(text), 0o644))
	for _, row := range rows {
		run := filepath.Join(r.out, d.name, fmt.Sprintf("%s-seed%d", strings.Split(row, ",")[3], seed))
		require.NoError(t, os.MkdirAll(run, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(run, "log.jsonl"), []byte(strings.Repeat("{\"seconds\": 0.25}\n", 20)), 0o644))
	}
}

// Scores stay when the folder of trainings goes, and new ones join them. Of several passes the last
// one counts. What is kept is not trained again.
func TestScoresStay(t *testing.T) {
	d := data{name: "hearts"}
	r := &runner{out: t.TempDir(), scores: filepath.Join(t.TempDir(), "scores"), seeds: 2}
	writeComparison(t, r, d, 1,
		"x,a,disc,mean-vote,0,0.8,0.1,0.2", "x,b,disc,mean-vote,0,0.6,0.1,", "x,a,disc,paper,0,0.1,0.1,0.1", "x,a,disc,paper,1,0.9,0.1,0.1", "x,b,disc,paper,1,0.7,0.1,0.1")
	require.NoError(t, r.collect(d))
	r.out = t.TempDir()
	writeComparison(t, r, d, 2, "x,a,disc,mean-vote,0,0.4,0.1,0.2", "x,b,disc,mean-vote,0,0.2,0.1,0.3")
	require.NoError(t, r.collect(d))
	before, err := os.ReadFile(r.scoresFile(d))
	require.NoError(t, err)
	require.NoError(t, r.collect(d))
	after, err := os.ReadFile(r.scoresFile(d))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "nothing twice")

	all, classes, err := r.read(d)
	require.NoError(t, err)
	assert.Equal(t, []string{"disc"}, classes)
	base, other := key{"disc", "mean-vote", "soft_dice"}, key{"disc", "paper", "soft_dice"}
	assert.Len(t, all[base], 2)
	assert.Len(t, all[other], 1)
	assert.InDeltaSlice(t, []float64{0.6, 0.4}, all.values(base), 1e-9)
	assert.InDeltaSlice(t, []float64{0.9, 0.7}, all.values(other), 1e-9)
	assert.InDeltaSlice(t, []float64{0.1, 0.1}, all.differences(other, base), 1e-9, "with the first seed, which both have")
	assert.InDeltaSlice(t, []float64{0.2, 0.3}, all.values(key{"disc", "mean-vote", "ece"}), 1e-9, "undefined in b with the first seed")
	done, err := r.done(d)
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"mean-vote-seed1": true, "mean-vote-seed2": true, "paper-seed1": true}, done)
	seconds, err := r.seconds(run{d, paper, 1, false})
	require.NoError(t, err)
	assert.Equal(t, 0.25, seconds)

	require.NoError(t, os.WriteFile(r.scoresFile(d), []byte("class,method,seed,step_seconds,figure,a\ndisc,paper,one,0.1,ece,0.1\n"), 0o644))
	_, err = r.kept(d)
	assert.ErrorContains(t, err, "hearts.csv")
}
