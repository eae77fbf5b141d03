//go:build !js

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/synthetic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A data set of two raters is compared and fused; what cannot be read is named.
func TestBringsADataSetTogether(t *testing.T) {
	folder := t.TempDir()
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), filepath.Join(folder, "data"), pair, 2, 64, 1))
	var out, said bytes.Buffer
	require.Equal(t, 0, run(t.Context(), []string{folder}, &out, &said), said.String())
	assert.Equal(t, "agreed\n", out.String())
	for _, name := range []string{"agreement/raters.json", "agreement/raters.html", "agreement/cases.csv", "fused/raters.csv"} {
		assert.FileExists(t, filepath.Join(folder, name))
	}
	methods, err := os.ReadDir(filepath.Join(folder, "fused"))
	require.NoError(t, err)
	assert.Len(t, methods, 4+2, "four methods, raters.csv and, as the truth is there, scores.csv")

	folder = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "in"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in", "cut.mrprism"), []byte("PK"), 0o644))
	said.Reset()
	require.Equal(t, 1, run(t.Context(), []string{folder}, &out, &said))
	assert.Contains(t, said.String(), "cut.mrprism: is no whole session")
}
