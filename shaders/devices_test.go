package shaders_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernels of variants.csv exist. That they have these variants and no others is checked by
// their families' tests (shadertest.Main).
func TestKernelsOfTheTableExist(t *testing.T) {
	table, err := os.Open("variants.csv")
	require.NoError(t, err)
	defer table.Close()
	rows, err := csv.NewReader(table).ReadAll()
	require.NoError(t, err)
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	var sources strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		sources.Write(text)
	}
	require.Greater(t, len(rows), 10)
	for _, row := range rows[1:] {
		for kernel := range strings.FieldsSeq(row[0]) {
			require.Contains(t, sources.String(), strconv.Quote(kernel))
		}
	}
}
