package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/statistics"

	"github.com/stretchr/testify/require"
)

// -on scores a part of the split that -split names, or that the folder has.
func TestParts(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	file, split := studytest.WeightsFile(t, about, nil), filepath.Join(t.TempDir(), "mine.json")
	lists := []byte(`{"train": ["case0000"], "validation": ["case0001", "case0002"], "test": ["case0004"]}`)
	require.NoError(t, os.WriteFile(split, lists, 0o644))
	images := func(args ...string) []string {
		r, table := Scores(t, append([]string{"-weights", file, "-data", dir, "-recurrences", "0"}, args...)...)
		require.Contains(t, table, dir+", "+r.Split+": ")
		return statistics.Tabulate(len(r.Cases), func(i int) string { return r.Cases[i].Name })
	}
	require.Equal(t, []string{"case0004"}, images())
	require.Equal(t, []string{"case0001", "case0002"}, images("-split", split, "-on", "validation"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "split.json"), lists, 0o644))
	require.Equal(t, []string{"case0000"}, images("-on", "train"))
	r, _ := Scores(t, "-weights", file, "-data", dir, "-recurrences", "0", "-on", "all")
	require.Len(t, r.Cases, 5)
	require.Regexp(t, "^1 train, 2 validation, 1 test, ", r.Lists[0])
	_, _, stderr := call(t, "-weights", file, "-data", dir, "-device", "reference", "-recurrences", "0")
	require.Contains(t, stderr, "1 of 5 images are in no list of the split")

	require.NoError(t, os.WriteFile(split, []byte(`{"train": ["case0000"], "test": ["case0000", "case9"]}`), 0o644))
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-split", split)
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, `"case0000" is in train and in test`)
	require.Contains(t, stderr, `names "case9", and there is no image of this name`)
	require.NoError(t, os.Remove(filepath.Join(dir, "split.json")))
	_, _, stderr = call(t, "-weights", file, "-data", dir, "-on", "validation")
	require.Contains(t, stderr, "without one there are no validation images")

	people, _ := studytest.Synthesise(t)
	description := filepath.Join(dir, "dataset.json")
	text, err := os.ReadFile(description)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(description, bytes.Replace(text, []byte(`"labels": "raters"`), []byte(`"labels": "agreement-levels"`), 1), 0o644))
	r, _ = Scores(t, "-weights", file, "-data", dir+","+people, "-recurrences", "0")
	require.Len(t, r.Cases, 2, "people behind levels")
	_, _, stderr = call(t, "compare", "-weights", file, "-data", dir+","+people)
	require.Contains(t, stderr, "give -data each folder alone")
}
