package main

import (
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// The program runs inside the test. Go's test cache does not see the program that TestMain builds,
// and would keep the results of an older one.
func TestHelp(t *testing.T) {
	var out, problems strings.Builder
	require.Zero(t, run(t.Context(), []string{"-h"}, &out, &problems))
	require.Empty(t, problems.String())
	stdout := out.String()
	for _, word := range []string{"-centres FILE", "-turned", "-foreign DIR", "AUROC", "name,cx,cy,r,note", "Wilson", "0.4 to 2.5", "silently wrong",
		"-out DIR", "report.html"} {
		require.Contains(t, stdout, word)
	}
	require.NotContains(t, stdout, "%!", "a verb without its value")
	require.NotContains(t, stdout, "%%")
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 170, line)
	}
}

// Flags without the flag that they need, impossible lists, and models that do not search.
func TestWrongUsageOfPictures(t *testing.T) {
	centres := studytest.CentresFile(t, "name,cx,cy,r\na,.5,.5,.5\n", "a.png")
	file, blind := studytest.WeightsFile(t, segmenttest.Fundus(), nil), studytest.WeightsFile(t, segmenttest.Raters(), nil)
	dir := filepath.Dir(centres)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "which data? give -data DIR, -centres FILE or -foreign DIR", []string{"-weights", file}},
		{2, "which data?", []string{"-weights", file, "-data", "", "-centres", ""}},
		{2, `unexpected argument "stray"; give data sets as -data DIR,DIR`, []string{"-weights", file, "stray"}},
		{2, "-turned needs -centres", []string{"-weights", file, "-foreign", dir, "-turned"}},
		{2, "-csv needs -data or -centres", []string{"-weights", file, "-foreign", dir, "-csv", "a.csv"}},
		{2, "-csv has other columns", []string{"-weights", file, "-data", dir, "-centres", centres, "-csv", "a.csv"}},
		{2, "-roi needs -data", []string{"-weights", file, "-centres", centres, "-roi", "auto"}},
		{2, "-changed needs -data or -centres", []string{"-weights", file, "-foreign", dir, "-changed"}},
		{2, "-split needs -data", []string{"-weights", file, "-foreign", dir, "-split", "a.json"}},
		{1, "does not search photographs (it was trained without -anchor): leave -centres out", []string{"-weights", blind, "-centres", centres}},
		{1, filepath.Join(dir, "nowhere.csv") + ": cannot be read", []string{"-weights", file, "-centres", filepath.Join(dir, "nowhere.csv")}},
		{1, "would count twice", []string{"-weights", file, "-centres", centres + "," + dir + "/./disc.csv"}},
		{1, "a name is empty", []string{"-weights", file, "-foreign", dir + ","}},
		{1, "there is no .png", []string{"-weights", file, "-foreign", t.TempDir()}},
		{1, "is not empty; name a new folder as -out", []string{"-weights", file, "-centres", centres, "-out", dir}},
		{1, "not a directory", []string{"-weights", file, "-foreign", centres}},
	} {
		code, stdout, stderr := call(t, append(c.args, "-device", "reference")...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
}
