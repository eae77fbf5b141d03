package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// mirrorFiles mirrors every picture of a copy of the folder.
func mirrorFiles(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "mirrored")
	require.NoError(t, os.CopyFS(out, os.DirFS(dir)))
	require.NoError(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".png" {
			return err
		}
		from, err := png.Decode(bytes.NewReader(studytest.ReadFile(t, path)))
		if err != nil {
			return err
		}
		size := from.Bounds().Size()
		to := image.NewNRGBA(image.Rectangle{Max: size})
		for i := range size.X * size.Y {
			to.Set(size.X-1-i%size.X, i/size.X, from.At(i%size.X, i/size.X))
		}
		var b bytes.Buffer
		if err := png.Encode(&b, to); err != nil {
			return err
		}
		return os.WriteFile(path, b.Bytes(), 0o644)
	}))
	return out
}

// Scores runs the program and reads its JSON; the table is its standard output.
func Scores(t *testing.T, args ...string) (r evaluate.Report, table string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scores.json")
	code, table, stderr := call(t, append(args, "-device", "reference", "-recurrences", "1", "-json", out)...)
	require.Zero(t, code, stderr)
	require.NoError(t, json.Unmarshal(studytest.ReadFile(t, out), &r))
	return r, table
}

// "mirrored" gives the scores of mirrored files, and the table has every row.
func TestChangedScores(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "raters", about.Raters[2], "disc", "case0004.png")))
	file := studytest.WeightsFile(t, about, nil)
	got, table := Scores(t, "-weights", file, "-data", dir, "-changed")
	turned, plainTable := Scores(t, "-weights", file, "-data", mirrorFiles(t, dir))
	require.Len(t, got.Changes, len(evaluate.Changes))
	require.Len(t, got.Cases[0].Changed, len(evaluate.Changes))
	last := len(evaluate.Changes) - 1
	for i, c := range got.Changes {
		require.Equal(t, evaluate.Changes[i].Name, c.Change)
		require.Zero(t, c.NotFound)
		require.Contains(t, table, "\n"+c.Change+" ")
		for k, class := range c.Classes {
			require.Equal(t, about.Classes[k], class.Class)
			require.InDelta(t, *got.Cases[0].Changed[i].SoftDice[k], class.SoftDice.Mean, 1e-12)
			require.InDelta(t, class.SoftDice.Mean-at(t, got.Classes[k], "softDice", 1, "mean"), class.Difference.Mean, 1e-12)
			require.NotZero(t, class.Difference.Mean, "%s changes nothing, or this test says little", c.Change)
			if i == last {
				require.InDelta(t, at(t, turned.Classes[k], "softDice", 1, "mean"), class.SoftDice.Mean, 1e-12)
			}
		}
	}
	require.Contains(t, table, "\nas they are ")
	require.Equal(t, len(got.Cases), got.Steady.Eyes)
	require.Regexp(t, fmt.Sprintf("vertical cup/disc ratio +%.3f", got.Steady.Mean.Mean), table)
	require.NotContains(t, plainTable, "as they are")
	require.Empty(t, turned.Changes)
	require.Empty(t, turned.Cases[0].Changed)
}

// A model that marks every pixel, or nothing, has the same scores under every change. From farther
// away more pixels are unmarked.
func TestChangesOfModelsThatDoNotLook(t *testing.T) {
	dir := studytest.LevelData(t)
	for _, bias := range []float32{30, -30} {
		blind := studytest.WeightsFile(t, segmenttest.Fundus(), func(f *weights.File) {
			b := f.Tensor("conp.head.bias")
			*b = weights.NewF32(b.Name, b.Shape, []float32{bias, bias})
		})
		got, table := Scores(t, "-weights", blind, "-data", dir, "-changed", "-roi", "auto")
		for _, c := range got.Changes {
			require.Equal(t, got.NotFound, c.NotFound)
			for k, class := range c.Classes {
				if bias > 0 && strings.HasPrefix(c.Change, "from farther") {
					require.Negative(t, class.Difference.Mean)
					continue
				}
				require.Equal(t, at(t, got.Classes[k], "softDice", 1, "mean"), class.SoftDice.Mean, c.Change)
				require.Zero(t, class.Difference.Mean)
			}
		}
		require.Equal(t, bias < 0, got.NotFound == 1)
		require.Equal(t, bias < 0, regexp.MustCompile(`mirrored left-right .* 1 *\n`).MatchString(table))
	}
}
