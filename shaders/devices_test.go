package shaders_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernels to whose variants DEVICES.md gives reasons exist. That they have these variants and
// no others is checked by their families' tests (shadertest.Main).
func TestKernelsOfTheTableExist(t *testing.T) {
	page, err := os.ReadFile("DEVICES.md")
	require.NoError(t, err)
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	var sources strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		sources.Write(text)
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z\d_, ]+) \| (?:plain|tiles|registers|subgroups|narrow|lanes|quads) \|`).FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows {
		for kernel := range strings.SplitSeq(row[1], ", ") {
			require.Contains(t, sources.String(), strconv.Quote(kernel))
		}
	}
}
