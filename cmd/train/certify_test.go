package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/data/synthetic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The certificate is in a copy of the weights. Too few patients are refused with what to do next,
// and so is what is no data of discs and cups.
func TestCertify(t *testing.T) {
	folder := t.TempDir()
	eyes, out := filepath.Join(folder, "eyes"), filepath.Join(folder, "out.safetensors")
	require.NoError(t, synthetic.WriteDataset(t.Context(), eyes, synthetic.Scenario{Name: "eyes", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}}}, 10, 128, 1))
	call := func(args ...string) (int, string) {
		var printed strings.Builder
		code := run(t.Context(), append([]string{"certify", "-device", "processor", "-weights", "fundus"}, args...), &printed, &printed)
		return code, printed.String()
	}
	code, said := call("-data", eyes, "-out", out)
	require.Zero(t, code, said)
	assert.Contains(t, said, "10 eyes of 10 patients")
	m, err := computing.Weights(out)
	require.NoError(t, err)
	require.NotNil(t, m.Metadata.Certificate)
	assert.Len(t, m.Metadata.Certificate.Photographs, 10)

	require.NoError(t, os.WriteFile(filepath.Join(eyes, "groups.csv"), []byte("name,group\ncase0000,a\ncase0001,a\ncase0002,a\n"), 0o644))
	code, said = call("-data", eyes, "-out", out)
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "eyes of 8 patients, and a certificate takes 9")
	assert.Contains(t, said, "mark more patients' eyes")
	code, _ = call("-data", eyes)
	assert.Equal(t, 2, code)
	code, said = call("-data", eyes, "-out", filepath.Join(folder, "weights"))
	assert.Equal(t, 2, code)
	assert.Contains(t, said, "ends in .safetensors")
}
