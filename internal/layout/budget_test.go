package layout

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// budgets are the lines of Go that a room may hold, without tests. A commit that raises one says
// what for, and what became unnecessary.
var budgets = map[string]int{
	"cmd":              8261,
	"internal/command": 600,
	"internal/data":    9649,
	"internal/files":   6805,
	"internal/output":  825,
	"internal/page":    1450,
	"internal/program": 350,
	"internal/segment": 2832,
	"internal/study":   10344,
	"internal/train":   3258,
	"internal/trust":   1230,
	"model":            4748,
	"shaders":          21270,
	"site":             300,
	"wasm":             1382,
	"weights":          3447,
}

// toolBudget is the lines that the tools may hold: what trains tables, makes pictures, measures
// speed or helps tests, and is in no one's way who uses the project.
const toolBudget = 9965

// tool matches the folders of tools.
var tool = regexp.MustCompile(`^(cmd/(tables|bundle|bench)|internal/(layout|release|data/synthetic))(/|$)|test(/|$)`)

func TestRoomsKeepTheirBudgets(t *testing.T) {
	files, root := tracked(t)
	lines, tools := map[string]int{}, 0
	for _, name := range files {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		n, folder := bytes.Count(data, []byte("\n")), filepath.ToSlash(filepath.Dir(name))
		if tool.MatchString(folder) {
			tools += n
			continue
		}
		at := room(folder)
		require.GreaterOrEqual(t, at, 0, "%s lies in no room", name)
		lines[rooms[at]] += n
	}
	all := 0
	for name, n := range lines {
		all += n
		assert.LessOrEqual(t, n, budgets[name], "lines of %s: take some away, or raise the budget and say what for", name)
		assert.Greater(t, n, budgets[name]*9/10-50, "lines of %s: lower the budget to what is there", name)
	}
	assert.LessOrEqual(t, tools, toolBudget, "lines of tools")
	t.Logf("%d lines of Go, %d of tools: %v", all, tools, lines)
}
