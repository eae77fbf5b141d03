package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// Scripts give an image on the standard input and get JSON on the standard output, and no more is
// said than they want.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	photo := encodePNG(t, synthetic.Photograph(1, 60, 40))
	path, out := write(t, filepath.Join(dir, "eye.png"), photo), filepath.Join(dir, "out")
	base := []string{"-weights", weightsFile(t, dir, segmenttest.Fundus(), nil), "-device", "reference", "-recurrences", "0", "-quiet"}
	piped := func(args ...string) string {
		t.Helper()
		cmd, stderr := process(append(base, args...)...), bytes.Buffer{}
		cmd.Stdin, cmd.Stderr, cmd.Dir = bytes.NewReader(photo), &stderr, t.TempDir()
		stdout, err := cmd.Output()
		require.NoError(t, err, stderr.String())
		require.Empty(t, stderr.String())
		require.Empty(t, listed(t, cmd.Dir))
		return string(stdout)
	}
	entry := func(text string) (e journal.Entry) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(text), &e), text)
		return e
	}
	require.Empty(t, piped("-out", out, path))
	text, err := os.ReadFile(filepath.Join(out, "eye.json"))
	require.NoError(t, err)
	written, said := entry(string(text)), entry(piped("-json", "-", "-"))
	require.Equal(t, "-", said.Image)
	require.Equal(t, written.Content, said.Content)
	require.Equal(t, written.Measurements, said.Measurements)
	require.Empty(t, said.Files.All)

	// with files the JSON names them; a second run finds them done
	table := filepath.Join(out, "all.csv")
	said = entry(piped("-json", "-", "-out", out, "-csv", table, "-"))
	require.Equal(t, "stdin_disc.png", said.Files.All[0].File)
	require.FileExists(t, filepath.Join(out, "stdin_cup_atleast4.png"))
	require.Empty(t, piped("-json", "-", "-out", out, "-csv", table, "-"))

	// an image that fails has a line too
	got := call(t, append(base, "-json", "-", filepath.Join(dir, "none.png"), path)...)
	require.Equal(t, 1, got.code)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `none.png: no such file or directory`)
	require.Equal(t, written.Measurements, entry(lines[1]).Measurements)
	require.Equal(t, 2, strings.Count(got.stderr, "\n"), got.stderr)
	for want, args := range map[string][]string{"-json x: give -": {"-json", "x"}, "where to?": {"-json", "-", "-csv", "a.csv"}, "-out DIR, or -json -": nil} {
		got := call(t, append(append(base, path), args...)...)
		require.Equal(t, 2, got.code)
		require.Contains(t, got.stderr, want)
	}
}
