package layout

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// totals reads totals.txt: how much of a kind the tree may hold, with its exceptions.
func totals(t *testing.T) (most, raised map[string]int) {
	t.Helper()
	text, err := os.ReadFile("totals.txt")
	require.NoError(t, err)
	most, raised = map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		n, err := strconv.Atoi(fields[1])
		require.NoError(t, err, "totals.txt: %s", line)
		if strings.HasPrefix(fields[1], "+") {
			require.GreaterOrEqual(t, len(fields), 5, "totals.txt: an exception says when, and what it bought: %s", line)
			raised[fields[0]] += n
		}
		most[fields[0]] += n
	}
	return most, raised
}

// keep fails where the tree holds half a percent more of a kind than totals.txt allows, or so much
// less that the total has to come down. A stranger's first operator fits into the half percent.
func keep(t *testing.T, kind string, n int) {
	t.Helper()
	totals, raised := totals(t)
	most := totals[kind]
	t.Logf("%s: %d of %d, %d of these by exceptions", kind, n, most, raised[kind])
	assert.LessOrEqual(t, n, most+most/200, "%s: take some away; if that is not possible, totals.txt takes an exception with what was bought", kind)
	assert.Greater(t, n, most*99/100-20, "%s: lower the total in totals.txt to %d", kind, n)
}

// tool matches the folders of tools: what builds the page, makes assembly and modules of vectors,
// measures speed or helps tests, and is in no one's way who uses the project.
var tool = regexp.MustCompile(`^(cmd/(bundle|bench)|internal/(layout|release|data/synthetic)|shaders/(vector/(asm|simd128)|gpu/sharing))(/|$)|test(/|$)`)

// kind is what a file counts as in totals.txt; empty: as nothing.
func kind(name string) string {
	switch path.Ext(name) {
	case ".go":
		switch folder := path.Dir(name); {
		case strings.HasSuffix(name, "_test.go"):
			return ""
		case within(folder, "cmd/batch"):
			return "batch"
		case within(folder, "cmd/study"):
			return "study"
		case tool.MatchString(folder):
			return "tools"
		}
		return "product"
	case ".js":
		if within(name, "site/testdata") {
			return ""
		}
		return "javascript"
	case ".wgsl", ".md":
		return path.Ext(name)[1:]
	}
	return ""
}

// Markdown counts its words.
func TestTotalsOnlyGoDown(t *testing.T) {
	files, root := tracked(t)
	count := map[string]int{}
	for _, name := range files {
		kind := kind(name)
		if kind == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		if kind == "md" {
			count[kind] += len(bytes.Fields(data))
		} else {
			count[kind] += bytes.Count(data, []byte("\n"))
		}
	}
	for kind, n := range count {
		keep(t, kind, n)
	}
}
