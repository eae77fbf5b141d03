package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofBrowser is the test in JavaScript that needs a browser's file system.
const ofBrowser = "testdata/keeping_test.js"

// TestInNode runs the tests in JavaScript of testdata: state, words, drawings, log and sessions
// need no browser.
func TestInNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, err.Error())
	}
	paths, err := filepath.Glob("testdata/*_test.js")
	require.NoError(t, err)
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == ofBrowser })
	var complaints bytes.Buffer
	run := exec.CommandContext(t.Context(), node, append([]string{"testdata/node.mjs"}, paths...)...)
	run.Stderr = &complaints
	out, err := run.Output()
	require.NoError(t, err, complaints.String())
	for line := range bytes.Lines(out) {
		var test struct{ File, Name, Error string }
		require.NoError(t, json.Unmarshal(line, &test))
		paths = slices.DeleteFunc(paths, func(path string) bool { return filepath.Base(path) == test.File })
		t.Run(test.File+": "+test.Name, func(t *testing.T) { assert.Empty(t, test.Error) })
	}
	assert.Empty(t, paths, "without a test")
}

func TestKeeping(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"page.js": nil}
	for _, path := range []string{ofBrowser, "testdata/state_test.js"} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = Published(content)
	}
	p := open(t, serve(t, built(t, files), nil), 400, 300)
	names := get[[]string](p, `import("./keeping_test.js").then(({ tests }) => Object.keys(globalThis.tests = tests))`)
	require.NotEmpty(t, names)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, get[string](p, fmt.Sprintf(`(async () => { try { await Object.values(tests)[%d](); return ""; } catch (error) { return error.stack ?? error.message; } })()`, i)))
		})
	}
}
