package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/studytest"

	"github.com/stretchr/testify/require"
)

// The CSV has the figures of the JSON, and their means are those of the report.
func TestCSV(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "raters", about.Raters[2], "disc", "case0001.png")))
	file, lines := studytest.WeightsFile(t, about, nil), filepath.Join(t.TempDir(), "scores.csv")
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-device", "reference", "-recurrences", "1", "-on", "all", "-csv", lines, "-json", "-")
	require.Zero(t, code, stderr)
	var got evaluate.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	text, err := os.ReadFile(lines)
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+5*2, "a line an image and structure")
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	of := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[column[name]], 64)
		require.NoError(t, err, name)
		return v
	}
	sums := [2]float64{}
	for i, row := range rows[1:] {
		c := got.Cases[i/2].Classes[i%2]
		require.Equal(t, []string{"synthetic-unbiased", got.Cases[i/2].Name, "true", got.Classes[i%2]["class"].(string)}, row[:4])
		require.InDelta(t, c.SoftDice[1], of(row, "soft_dice_rec1"), 1e-6)
		require.InDelta(t, c.Truth[0], of(row, "dice_truth_rec0"), 1e-6)
		require.InDelta(t, c.Set.Energy, of(row, "energy_distance"), 1e-5)
		sums[i%2] += of(row, "dice_match") / 5
	}
	for k, class := range got.Classes {
		require.InDelta(t, at(t, class, "set", "diceMatch", "mean"), sums[k], 1e-6)
		require.NotContains(t, class, "gainP", "one run has no p")
	}
}
