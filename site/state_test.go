package site

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestState runs the tests in JavaScript of testdata in a page, as the browser has the engine for
// them.
func TestState(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"page.js": nil}
	paths, err := filepath.Glob("testdata/*_test.js")
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = Published(content)
	}
	p := open(t, serve(t, built(t, files), nil), 400, 300)
	for _, path := range paths {
		file := filepath.Base(path)
		names := get[[]string](p, fmt.Sprintf(`import("./%s").then(({ tests }) => Object.keys(globalThis.tests = tests))`, file))
		require.NotEmpty(t, names)
		for i, name := range names {
			t.Run(file+": "+name, func(t *testing.T) {
				assert.Empty(t, get[string](p, fmt.Sprintf(`(async () => { try { await Object.values(tests)[%d](); return ""; } catch (error) { return error.stack ?? error.message; } })()`, i)))
			})
		}
	}
}
