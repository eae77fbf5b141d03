//go:build !js

package vector_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu/gputest/browsertest"
)

// All tests pass in Chromium and in Node, with vectors and without.
func TestInBrowser(t *testing.T) {
	browsertest.Run(t, ".", "-levels=SIMD128 relaxed,SIMD128,Go")
}

func TestInNode(t *testing.T) {
	node := needsNode(t)
	binary := compiled(t, "-tags", "simd128")
	for _, engine := range []struct{ name, flag, levels string }{
		{"with relaxed instructions", "--experimental-wasm-relaxed-simd", ""}, // those of Node 20 are not exact
		{"with SIMD128", "--no-experimental-wasm-relaxed-simd", "SIMD128,Go"},
		{"without", "--no-enable-sse4-1", "Go"},
	} {
		t.Run(engine.name, func(t *testing.T) {
			if exec.Command(node, engine.flag, "-e", "0").Run() != nil {
				t.Skipf("this Node has no %s", engine.flag)
			}
			if strings.HasPrefix(engine.flag, "--no-enable-sse") && runtime.GOARCH != "amd64" {
				t.Skip("vectors of other processors cannot be switched off")
			}
			passes(t, node, engine.flag, filepath.Join("simd128", "node.js"), binary, "-levels="+engine.levels)
		})
	}
	t.Run("built without the tag", func(t *testing.T) {
		passes(t, node, filepath.Join(runtime.GOROOT(), "lib", "wasm", "wasm_exec_node.js"), compiled(t))
	})
}

// needsNode skips the test without Node, or fails with CI=true.
func needsNode(t *testing.T) string {
	path, err := exec.LookPath("node")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}

// compiled is this package's test program for js/wasm.
func compiled(t *testing.T, flags ...string) string {
	binary := filepath.Join(t.TempDir(), "test.wasm")
	c := exec.CommandContext(t.Context(), "go", append(append([]string{"test", "-trimpath", "-c", "-o", binary}, flags...), ".")...)
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	output, err := c.CombinedOutput()
	require.NoError(t, err, string(output))
	return binary
}

func passes(t *testing.T, node string, arguments ...string) {
	c := exec.CommandContext(t.Context(), node, append(append([]string{"--stack-size=8192"}, arguments...), "-test.v")...)
	output, err := c.CombinedOutput()
	require.NoError(t, err, string(output))
	assert.Contains(t, string(output), "\n--- PASS: TestMultiply")
}
