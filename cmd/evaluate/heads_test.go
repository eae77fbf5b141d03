package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/data/metric"
)

// Heads that draw as the raters did are an equal set, in any order. The head of a rater without a
// mark does not count.
func TestSet(t *testing.T) {
	marks := [][]uint8{{1, 1, 0, 0}, nil, {0, 1, 1, 0}}
	swapped := []metric.Bits{metric.Pack([]float32{0, .9, .8, .1}), metric.Pack([]float32{1, 1, 1, 1}), metric.Pack([]float32{.7, .6, .5, 0})}
	s := set(swapped, marks)
	require.InDelta(t, 0, s.Energy, 1e-12)
	require.InDelta(t, 1, s.Max, 1e-12)
	require.InDelta(t, 1, *s.Match, 1e-12)
	same := set([]metric.Bits{swapped[0], swapped[1], swapped[0]}, marks)
	require.InDelta(t, .75, same.Max, 1e-12)
	require.InDelta(t, .75, *same.Match, 1e-12)
	require.Positive(t, same.Energy)
	require.Nil(t, set(swapped, [][]uint8{marks[0], nil, nil}))
}

func TestAgree(t *testing.T) {
	votes := metric.Count([]uint8{1, 1, 0, 0}, []uint8{0, 1, 1, 0})
	a := agree([]float32{0, 0, 0, .9}, votes, 4, 1)
	require.InDelta(t, 2, *a.Hausdorff, 1e-12, "one half is no majority of two: theirs is the second pixel")
	require.InDelta(t, metric.FleissKappa(votes, []uint8{1, 1, 1, 0}), *a.Kappa, 1e-12)
	require.InDelta(t, metric.FleissKappa(votes, nil), *a.KappaWhole, 1e-12)
	require.Nil(t, agree(make([]float32, 4), votes, 4, 1).Hausdorff, "an empty mask has no outline")
}

// Equal marks have no kappa inside their union. The report counts these images.
func TestUndefinedKappa(t *testing.T) {
	same := metric.Count([]uint8{1, 1, 0, 0}, []uint8{1, 1, 0, 0})
	differing := metric.Count([]uint8{1, 1, 0, 0}, []uint8{0, 1, 1, 0})
	empty := metric.Count([]uint8{0, 0, 0, 0}, []uint8{0, 0, 0, 0})
	var scores []*classScore
	for _, votes := range []metric.Votes{same, differing, empty} {
		scores = append(scores, &classScore{Agreement: agree([]float32{1, 1, 0, 0}, votes, 4, 1)})
	}
	_, r := setReports(scores)
	require.Equal(t, []int{2, 1, 1}, []int{r.KappaUndefined, r.WholeUndefined, r.Undefined})
	require.InDelta(t, *scores[1].Agreement.Kappa, r.Kappa.Mean, 1e-12)
	var out strings.Builder
	require.NoError(t, (&report{Classes: []classReport{{Class: "disc", Images: 3, Agreement: r}}}).table(&out))
	require.Regexp(t, `not defined: marks are equal, or there is one +2\n`, out.String())
	require.Regexp(t, `not defined: marks are empty or full, or there is one +1\n`, out.String())
}

// The CSV has the figures of the JSON, and their means are those of the report.
func TestCSV(t *testing.T) {
	dir, about := synthesise(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "raters", about.Raters[2], "disc", "case0001.png")))
	file, lines := weightsFile(t, about, nil), filepath.Join(t.TempDir(), "scores.csv")
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-device", "reference", "-recurrences", "1", "-on", "all", "-csv", lines, "-json", "-")
	require.Zero(t, code, stderr)
	var got report
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
		require.Equal(t, []string{"synthetic-unbiased", got.Cases[i/2].Name, "true", got.Classes[i%2].Class}, row[:4])
		require.InDelta(t, c.SoftDice[1], of(row, "soft_dice_rec1"), 1e-6)
		require.InDelta(t, c.Truth[0].Dice, of(row, "dice_truth_rec0"), 1e-6)
		require.InDelta(t, c.Truth[0].Brier, of(row, "brier_truth_rec0"), 1e-6)
		require.InDelta(t, c.Set.Energy, of(row, "energy_distance"), 1e-5)
		require.InDelta(t, *c.Agreement.Kappa, of(row, "fleiss_kappa"), 1e-6)
		require.Empty(t, row[column["soft_dice_against"]])
		sums[i%2] += of(row, "dice_match") / 5
	}
	for k, class := range got.Classes {
		require.InDelta(t, class.Set.Match.Mean, sums[k], 1e-6)
		require.NotNil(t, class.GainP)
		require.NotNil(t, class.Agreement.ICC, "of the four images whose discs all have marked")
	}
	require.Nil(t, got.Cases[1].Classes[0].Areas)
}
