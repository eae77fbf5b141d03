package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
)

// Warnings leave the exit code 0, errors make it 1; the table and the JSON tell the same.
func TestCheck(t *testing.T) {
	data := writeData(t, 6)
	code, stdout, stderr := invoke(t.Context(), "check", data)
	require.Equal(t, command.Done, code, stderr)
	for _, want := range []string{"synthetic-pair: 6 images, 5 to train on, 1 held out; 2 raters, 2 classes", "class  rater", "disc   ann    6"} {
		assert.Contains(t, stdout, want)
	}
	missing := filepath.Join(data, "raters", "bob", "cup", "case0001.png")
	require.NoError(t, os.Remove(missing))
	code, stdout, _ = invoke(t.Context(), "check", data)
	assert.Equal(t, command.Done, code)
	assert.Contains(t, stdout, "rater bob has not marked the cup in 1 of 6 images")
	assert.Contains(t, stdout, "0 errors, 1 warnings")

	image := filepath.Join(data, "images", "case0002.png")
	require.NoError(t, os.WriteFile(image, []byte("a text"), 0o644))
	code, stdout, _ = invoke(t.Context(), "check", data)
	assert.Equal(t, command.Failed, code)
	assert.Contains(t, stdout, "errors: training would fail (1)")
	assert.Contains(t, stdout, image)
	code, stdout, _ = invoke(t.Context(), "check", "-json", data)
	assert.Equal(t, command.Failed, code)
	var report dataset.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	assert.True(t, report.Failed())
	assert.Len(t, report.Findings, 2)

	for _, args := range [][]string{{"check"}, {"check", "a", "b"}, {"check", "a", "-nonsense"}} {
		code, _, stderr := invoke(t.Context(), args...)
		assert.Equal(t, command.Usage, code, args)
		assert.Contains(t, stderr, "train check -h")
	}
	code, stdout, _ = invoke(t.Context(), "check", "-h")
	assert.Equal(t, command.Done, code)
	assert.Contains(t, stdout, "least")
}
