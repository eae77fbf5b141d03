package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/internal/program/cli"
)

func TestSyntheticForeign(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "foreign")
	code, _, stderr := invoke(t.Context(), "synthetic", "foreign", folder, "-images", "6", "-side", "64", "-seed", "3", "-kinds", "lesions, scan", "-classes", "disc,cup")
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "6 images of 2 kinds, without disc and cup")
	d, err := dataset.Open(folder)
	require.NoError(t, err)
	assert.Equal(t, []string{"disc", "cup"}, d.Classes)
	require.Len(t, d.Cases, 6)
	assert.Equal(t, "lesions_0001", d.Cases[0].Name)
	assert.Equal(t, "scan_0003", d.Cases[5].Name)
	code, stdout, stderr := invoke(t.Context(), "check", folder)
	assert.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, "errors: 0")
	after := filepath.Join(t.TempDir(), "after")
	code, _, stderr = invoke(t.Context(), "synthetic", "-images", "1", "foreign", after)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "1 images of 9 kinds, without disc")
	first, err := dataset.Open(after)
	require.NoError(t, err)
	assert.Equal(t, 512, max(first.Cases[0].W, first.Cases[0].H), "the default side of foreign pictures")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	part := filepath.Join(t.TempDir(), "part")
	code, _, _ = invoke(stopped, "synthetic", "foreign", part)
	assert.Equal(t, cli.Interrupted, code)
	assert.NoFileExists(t, filepath.Join(part, "dataset.json"))
	code, _, stderr = invoke(t.Context(), "synthetic", "foreign", folder)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, folder+" is not empty")
}

func TestSyntheticForeignMisused(t *testing.T) {
	for want, args := range map[string][]string{
		"and a DIR": {"foreign"},
		"-images 0": {"foreign", "x", "-images", "0"},
		"-side 8":   {"foreign", "x", "-side", "8"},
		`no kind of foreign picture is named "aeroplane"`: {"foreign", "x", "-kinds", "veil,aeroplane"},
		"veil appears twice":                              {"foreign", "x", "-kinds", "veil,veil"},
		`-classes: "a/b"`:                                 {"foreign", "x", "-classes", "a/b"},
		"disc appears twice":                              {"foreign", "x", "-classes", "disc,disc"},
		"only for foreign":                                {"one-expert", "x", "-kinds", "veil"},
	} {
		code, _, stderr := invoke(t.Context(), append([]string{"synthetic"}, args...)...)
		assert.Equal(t, cli.Usage, code, args)
		assert.Contains(t, stderr, want)
	}
	code, stdout, _ := invoke(t.Context(), "synthetic", "foreign", "-h")
	assert.Equal(t, cli.Done, code)
	assert.Contains(t, stdout, "cataract")
}
