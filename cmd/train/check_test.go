package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
)

// With warnings the exit code is 0, with errors 1. The table and the JSON agree.
func TestCheck(t *testing.T) {
	data := writeData(t, 6)
	code, stdout, stderr := invoke(t.Context(), "check", data)
	require.Equal(t, cli.Done, code, stderr)
	for _, want := range []string{"synthetic-pair: 6 images, 5 to train on, 1 held out; 2 raters, 2 classes", "class  rater", "disc   ann    6"} {
		assert.Contains(t, stdout, want)
	}
	missing := filepath.Join(data, "raters", "bob", "cup", "case0001.png")
	require.NoError(t, os.Remove(missing))
	code, stdout, _ = invoke(t.Context(), "check", data)
	assert.Equal(t, cli.Done, code)
	assert.Contains(t, stdout, "rater bob has not marked the cup in 1 of 6 images")
	assert.Contains(t, stdout, "errors: 0, warnings: 1")

	image := filepath.Join(data, "images", "case0002.png")
	require.NoError(t, os.WriteFile(image, []byte("a text"), 0o644))
	code, stdout, _ = invoke(t.Context(), "check", data)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stdout, "errors: training or evaluate would fail (1)")
	assert.Contains(t, stdout, image)
	code, stdout, _ = invoke(t.Context(), "check", "-json", "-", data)
	assert.Equal(t, cli.Failed, code)
	var report dataset.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	assert.True(t, report.Failed())
	assert.Len(t, report.Findings, 2)

	for _, class := range []string{"disc", "cup"} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "raters", "ann", class, "case0003.png"), []byte("a text"), 0o644))
	}
	_, stdout, _ = invoke(t.Context(), "check", "-most", "1", data)
	assert.Contains(t, stdout, "(3)\n")
	assert.Contains(t, stdout, "and 2 more; -most 0 shows all", "of errors too")

	_, stdout, _ = invoke(t.Context(), "check", filepath.Join(data, "nowhere"))
	assert.NotContains(t, stdout, "0 images", "what cannot be read is not counted")

	for _, args := range [][]string{{"check"}, {"check", "a", "b"}, {"check", "a", "-nonsense"}} {
		code, _, stderr := invoke(t.Context(), args...)
		assert.Equal(t, cli.Usage, code, args)
		assert.Contains(t, stderr, "train check -h")
	}
	code, _, stderr = invoke(t.Context(), "chekc", data)
	assert.Equal(t, cli.Usage, code)
	assert.Contains(t, stderr, `no subprogram of train is named "chekc" (did you mean check?): there are certify, check, export, import, synthetic`)
	code, stdout, _ = invoke(t.Context(), "check", "-h")
	assert.Equal(t, cli.Done, code)
	assert.Contains(t, stdout, "least")
}
