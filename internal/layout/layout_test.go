// Package layout is the test that holds the structure of the tree: which way imports run, what
// stays out of which program, what lies where. ARCHITECTURE.md says why.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "mrprism/"

// list is what `go list` says of a package.
type list struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	Deps                               []string // of the package without its tests, transitive
}

// name is the path within the module; its root is ".".
func (p *list) name() string { return path.Clean(strings.TrimPrefix(p.ImportPath+"/", module)) }

// within reports whether a package lies in one of the folders.
func within(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// packages lists the module's, as natively built or as built for the page.
func packages(t *testing.T, environment ...string) []*list {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", module+"...")
	c.Env = append(os.Environ(), environment...)
	c.Stderr = os.Stderr
	output, err := c.Output()
	require.NoError(t, err)
	var all []*list
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		p := new(list)
		err := decoder.Decode(p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		all = append(all, p)
	}
	require.Greater(t, len(all), 20, "packages listed")
	return all
}

// both runs the test natively and for the page.
func both(t *testing.T, test func(t *testing.T, all []*list)) {
	t.Run("native", func(t *testing.T) { test(t, packages(t)) })
	t.Run("page", func(t *testing.T) { test(t, packages(t, "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")) })
}

// ours are those of the paths that lie in this module, without its name.
func ours(paths []string) []string {
	var out []string
	for _, p := range paths {
		if strings.HasPrefix(p+"/", module) {
			out = append(out, (&list{ImportPath: p}).name())
		}
	}
	return out
}

func TestImportsRunOneWay(t *testing.T) {
	tower := []string{"internal/choice", "shaders/half", "shaders/gpu", "shaders/tensor", "shaders/vector", "shaders/kernels", "shaders/pointwise", "shaders/norm", "shaders/conv", "shaders/attention", "shaders/pool", "shaders/raters", "shaders/loss", "shaders/adam", "shaders", "model/nn", "model", "model/rivals"} // each may use those before it
	both(t, func(t *testing.T, all []*list) {
		found := 0
		for _, p := range all {
			if at := slices.Index(tower, p.name()); at >= 0 {
				found++
				assert.Subset(t, tower[:at], ours(p.Deps), "what %s depends on", p.name())
			}
			if !within(p.name(), "cmd", "wasm") {
				for _, d := range ours(p.Deps) {
					assert.False(t, within(d, "cmd", "wasm"), "%s depends on %s", p.name(), d)
				}
			}
		}
		assert.Equal(t, len(tower), found)
	})
}

// The page downloads no method but MrPrism's.
func TestRivalsAreInNativeProgramsAlone(t *testing.T) {
	for _, p := range packages(t, "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0") {
		if within(p.name(), "wasm", "cmd", "internal") {
			assert.NotContains(t, p.Deps, module+"model/rivals", p.name())
		}
	}
}

// Tests, and the packages for tests, may also use the reference: it is their oracle.
func TestBackendsAreReachedThroughDevice(t *testing.T) {
	const door, oracle = "shaders/gpu/device", "shaders/gpu/reference"
	backends := []string{oracle, "shaders/gpu/processor", "shaders/gpu/host", "shaders/gpu/webgpu", "shaders/gpu/dawn"}
	both(t, func(t *testing.T, all []*list) {
		reached := false
		for _, p := range all {
			if within(p.name(), append(backends, "shaders/gpu/gputest")...) {
				continue
			}
			for _, d := range ours(p.Imports) {
				if within(d, backends...) && !(d == oracle && strings.HasSuffix(p.name(), "test")) {
					reached = reached || p.name() == door
					assert.Equal(t, door, p.name(), "imports %s", d)
				}
			}
			for _, d := range ours(slices.Concat(p.TestImports, p.XTestImports)) {
				assert.False(t, within(d, backends[1:]...), "the tests of %s import %s", p.name(), d)
			}
		}
		assert.True(t, reached)
	})
}

// Libraries that only some packages may reach; the page stays small and the programs free of test
// code.
func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	forTests := func(n string) bool {
		return within(n, "shaders/shadertest", "shaders/kernels/kerneltest", "cmd/study/internal/studytest", "internal/program/programtest")
	}
	rules := []struct {
		library string
		allowed func(name string) bool // package that may depend on it
	}{
		{"github.com/hajimehoshi/ebiten", func(n string) bool { return n == "wasm/viewer" }},
		{"net/http", func(n string) bool { return !within(n, "wasm") }},
		{"mrprism/model", func(n string) bool { return n != "wasm/together" }}, // it brings marks together, and has no network
		{"github.com/stretchr/testify", forTests},
		{"github.com/chromedp", func(n string) bool { return n == "cmd/serve" }}, // the kiosk's browser
		{"testing", func(n string) bool { return forTests(n) || within(n, "shaders/gpu/gputest") }},
		{"mrprism/shaders/shadertest", forTests},
		{"mrprism/shaders/kernels/kerneltest", forTests},
		{"mrprism/internal/command", func(n string) bool { return within(n, "cmd", "wasm", "internal/command") }}, // programs alone
	}
	both(t, func(t *testing.T, all []*list) {
		ebitengine := false
		for _, p := range all {
			for _, rule := range rules {
				for _, d := range p.Deps {
					if within(d, rule.library) {
						ebitengine = ebitengine || p.name() == "wasm/viewer"
						assert.True(t, rule.allowed(p.name()), "%s depends on %s", p.name(), d)
					}
				}
			}
		}
		assert.Equal(t, strings.HasSuffix(t.Name(), "page"), ebitengine, "the viewer draws with Ebitengine, and is built for the page alone")
	})
}

// tracked lists the files that git knows, relative to the root, which it also returns.
func tracked(t *testing.T) (files []string, root string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("this is no clone, or there is no git: %v", err)
	}
	root = strings.TrimSpace(string(output))
	c := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	c.Dir = root
	output, err = c.Output()
	require.NoError(t, err)
	files = strings.Split(strings.TrimRight(string(output), "\x00"), "\x00")
	require.Greater(t, len(files), 100)
	return files, root
}

func TestTopLevel(t *testing.T) {
	agreed := []string{"wasm", "shaders", "model", "weights", "site", "cmd", "go.mod", "go.sum", "Makefile", "internal", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "mrprism.go", "mrprism_test.go", "example_test.go"}
	files, _ := tracked(t)
	for _, f := range files {
		top, _, _ := strings.Cut(f, "/")
		assert.True(t, strings.HasPrefix(top, ".") || slices.Contains(agreed, top), "%s: %s is not of the agreed layout", f, top)
	}
}

// Nothing in the tree may name a folder of the machine it was written on.
func TestNoPathsOfOneMachine(t *testing.T) {
	machine := regexp.MustCompile(`(?:^|[\s"'=(:` + "`" + `])/(?:work|root|home|Users|farm)/[\w.-]`)
	require.True(t, machine.MatchString(`folder "`+`/home`+`/ann/data"`))
	files, root := tracked(t)
	for _, f := range files {
		switch path.Ext(f) {
		case ".safetensors", ".png", ".jpg", ".onnx", ".pb", ".gz":
			continue
		}
		content, err := os.ReadFile(path.Join(root, f))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		assert.Empty(t, machine.FindString(string(content)), f)
	}
}

// Programs write files through package disk, which follows no link out of a folder of results. The
// others write in folders that they have just made themselves, or that only their user can write to.
func TestFilesAreWrittenThroughDisk(t *testing.T) {
	others := []string{"weights/disk", "internal/files/codec", "cmd/study/internal/studytest", "wasm/together", "cmd/bench", "cmd/serve", "shaders/vector/simd128"}
	written := regexp.MustCompile(`\bos\.(WriteFile|Create|CreateTemp|OpenFile|Link|Symlink)\(`)
	files, root := tracked(t)
	for _, f := range files {
		if path.Ext(f) != ".go" || strings.HasSuffix(f, "_test.go") || within(path.Dir(f), others...) {
			continue
		}
		content, err := os.ReadFile(path.Join(root, f))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
			assert.Empty(t, written.FindString(string(content)), "%s: write through weights/disk, or weights.WriteAtomic", f)
		}
	}
}

// One operator is one stem in its family's folder. A variant of its kernels is STEM_VARIANT.wgsl
// and belongs to STEM.go.
func TestEveryShaderHasItsOperator(t *testing.T) {
	files, root := tracked(t)
	shaders := 0
	for _, f := range files {
		if path.Ext(f) != ".wgsl" {
			continue
		}
		shaders++
		assert.Equal(t, "shaders", path.Dir(path.Dir(f)), f)
		stem := strings.TrimSuffix(path.Base(f), ".wgsl")
		owner, found := stem, false
		for !found {
			content, err := os.ReadFile(path.Join(root, path.Dir(f), owner+".go"))
			found = err == nil && strings.Contains(string(content), stem+".wgsl")
			at := strings.LastIndex(owner, "_")
			if at < 0 {
				break
			}
			owner = owner[:at]
		}
		assert.True(t, found, "%s is embedded by no %s.go", f, stem)
	}
	assert.Greater(t, shaders, 20)
}
