package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/study/report"

	"github.com/stretchr/testify/require"
)

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A report says by what, of what and how it was made, in every format. Twice the same input gives
// the same bytes, wherever they go.
func TestOrigin(t *testing.T) {
	data, about := studytest.Synthesise(t)
	about.Name = "first"
	first := studytest.WeightsFile(t, about, nil)
	about.Name = "second"
	second := studytest.WeightsFile(t, about, nil)
	votes := shifted(t, data, t.TempDir(), 0)
	source := func(name, folder string, patterns ...string) report.Source {
		lines, n := "", 0
		for _, pattern := range patterns { // in order
			paths, err := filepath.Glob(filepath.Join(folder, pattern))
			require.NoError(t, err)
			for _, path := range paths {
				within, err := filepath.Rel(folder, path)
				require.NoError(t, err)
				lines += sumOf(studytest.ReadFile(t, path)) + "  " + filepath.ToSlash(within) + "\n"
			}
			n += len(paths)
		}
		return report.Source{Name: name, Files: n, SHA256: sumOf([]byte(lines))}
	}
	weights := []report.Source{{Name: first, Files: 1, SHA256: sumOf(studytest.ReadFile(t, first))}, {Name: second, Files: 1, SHA256: sumOf(studytest.ReadFile(t, second))}}
	set := source("synthetic-unbiased", data, "images/case0004.png", "raters/*/*/case0004.png", "truth/*/case0004.png")
	for _, c := range []struct {
		want report.Origin
		args []string
	}{
		{report.Origin{Program: "evaluate", Data: []report.Source{set}, Weights: weights}, []string{"-weights", first + "+" + second, "-data=" + data, "-device", "processor"}},
		{report.Origin{Program: "evaluate compare", Data: []report.Source{set}, Weights: weights, Maps: []report.Source{source("votes", votes, "cup/*", "disc/*")}},
			[]string{"-weights", "mean=" + first + "+" + second, "-data", data, "-device", "processor", "-predictions", "votes=" + votes}},
	} {
		c.want.Version, c.want.Commit, c.want.Flags = "unknown", "unknown", c.args
		var before map[string][]byte
		for _, name := range []string{"a", "b"} {
			dir := filepath.Join(t.TempDir(), name)
			args := append([]string{"-out", dir}, c.args...)
			if c.want.Program != "evaluate" {
				args = append([]string{"compare"}, args...)
			}
			var stdout, stderr strings.Builder
			require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
			var got struct{ Made report.Origin }
			require.NoError(t, json.Unmarshal(studytest.ReadFile(t, filepath.Join(dir, "report.json")), &got))
			require.Equal(t, c.want, got.Made)
			line := "MrPrism unknown, commit unknown: " + c.want.Program + " " + strings.Join(c.args, " ")
			sum := fmt.Sprintf("SHA-256 of synthetic-unbiased (%d files): %s", set.Files, set.SHA256)
			files := map[string][]byte{"stdout": []byte(stdout.String())}
			for _, file := range []string{"report.json", "report.html"} {
				files[file] = studytest.ReadFile(t, filepath.Join(dir, file))
			}
			for file, text := range files {
				if file != "report.json" {
					require.Contains(t, strings.ReplaceAll(string(text), "&#43;", "+"), line, file)
					require.Contains(t, string(text), sum, file)
				}
				if before != nil && file != "stdout" { // it names the folder
					require.Equal(t, string(before[file]), string(text), file)
				}
			}
			before = files
		}
	}
}
