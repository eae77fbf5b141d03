package site

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestState runs testdata/state_test.js in a page, as the browser has the engine for it.
func TestState(t *testing.T) {
	tests, err := os.ReadFile("testdata/state_test.js")
	require.NoError(t, err)
	p := open(t, serve(t, built(t, map[string][]byte{"state_test.js": tests, "page.js": nil}), nil), 400, 300)
	names := get[[]string](p, `import("./state_test.js").then(({ tests }) => Object.keys(globalThis.tests = tests))`)
	require.NotEmpty(t, names)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, get[string](p, fmt.Sprintf(`(() => { try { Object.values(tests)[%d](); return ""; } catch (error) { return error.stack; } })()`, i)))
		})
	}
}
