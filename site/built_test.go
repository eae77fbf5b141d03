package site

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The built files, which the other tests use, are made of the sources as they are.
func TestBuiltSiteIsCurrent(t *testing.T) {
	tree := built(t, nil)
	for _, folder := range Folders {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, entry := range entries {
			name, ext := entry.Name(), filepath.Ext(entry.Name())
			if !slices.Contains([]string{".js", ".css", ".svg", ".json", ".webmanifest"}, ext) {
				continue
			}
			source, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			content, err := fs.ReadFile(tree, name)
			require.NoError(t, err, "%s is not in the bundle: add it to cmd/bundle", name)
			if ext == ".js" {
				source = Published(source)
			}
			filled := name == "sw.js" || name == "build.js" || name == "addresses.js"
			assert.True(t, filled || bytes.Equal(source, content), "%s/%s has changed, or another file has its name: run `make site`", folder, name)
		}
	}
	page := string(readBuilt(t, "index.html"))
	assert.Contains(t, page, strings.Replace(Policy, "frame-ancestors 'none'; ", "", 1), "the page carries the policy for other hosts")
	worker := string(readBuilt(t, "sw.js"))
	for _, name := range []string{"index.html", "viewer.wasm", "segmenter.wasm", "gpu.js", "vectors.js", "sample.jpg"} {
		assert.Contains(t, worker, `"`+name+`": "`, "kept for use without a network")
	}
	for _, unfilled := range []string{"/*VERSION*/", "/*FILES*/", "/*MODELS*/"} {
		assert.NotContains(t, worker, unfilled)
	}
	build := string(readBuilt(t, "build.js"))
	assert.NotContains(t, build, "/*VERSION*/")
	assert.NotContains(t, build, "/*LIMITS*/")
	const imported = "\x07vectors\x07product"
	assert.True(t, bytes.Contains(readBuilt(t, "segmenter.wasm"), []byte(imported)), "built with the tag simd128")
	assert.False(t, bytes.Contains(readBuilt(t, "viewer.wasm"), []byte(imported)), "stage.js does not offer it")
	assert.NotContains(t, page, "style=", "the policy refuses inline styles")
	assert.NotContains(t, page, "onclick=", "and inline scripts")
}

// Modules import each other in no circle: which of them runs first would depend on who is asked
// for.
func TestModulesHaveNoCircles(t *testing.T) {
	imported := regexp.MustCompile(`(?m)^(?:import|\} from|export .* from)\b[^;]*?"(\.\.?/[^"]+)"`)
	var follow func(trail []string)
	done := map[string]bool{}
	follow = func(trail []string) {
		name := trail[len(trail)-1]
		if at := slices.Index(trail, name); at < len(trail)-1 {
			t.Errorf("a circle: %s", strings.Join(trail[at:], " → "))
			return
		}
		source, err := os.ReadFile(name)
		if done[name] || os.IsNotExist(err) { // Go's and npm's scripts come with the build
			return
		}
		require.NoError(t, err)
		for _, found := range imported.FindAllSubmatch(source, -1) {
			follow(append(slices.Clone(trail), filepath.Join(filepath.Dir(name), string(found[1]))))
		}
		done[name] = true
	}
	for _, folder := range Folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.js"))
		require.NoError(t, err)
		for _, path := range paths {
			follow([]string{path})
		}
	}
	assert.Greater(t, len(done), 60)
}
