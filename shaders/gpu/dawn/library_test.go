//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
)

func TestMissingLibrary(t *testing.T) {
	named := filepath.Join(t.TempDir(), "libnone.so")
	t.Setenv(LibraryVariable, named)
	_, err := Open(t.Context(), func(string) {})
	require.ErrorIs(t, err, gpu.ErrNoAdapter)
	assert.Equal(t, 1, strings.Count(err.Error(), "\n"), "a library that was named is the only one tried")
	assert.Contains(t, err.Error(), named)
	assert.Contains(t, err.Error(), "make dawn")

	text := filepath.Join(t.TempDir(), "libtext.so")
	require.NoError(t, os.WriteFile(text, []byte("not a library"), 0o644))
	t.Setenv(LibraryVariable, text)
	said := ""
	_, err = Open(t.Context(), func(text string) { said = text })
	require.ErrorIs(t, err, gpu.ErrNoAdapter)
	assert.Contains(t, err.Error(), text)
	assert.Contains(t, said, text+`" is loaded unchecked`)
}

// planted is the environment variable of a test process that only opens Dawn.
const planted = "MRPRISM_TEST_PLANTED"

// openPlanted prints what Open says, and ends the process.
func openPlanted() {
	_, err := loadLibrary(func(text string) { fmt.Println(text) })
	fmt.Println(err)
	os.Exit(0)
}

// No library of a stranger is loaded, wherever an archive may have put it: the working directory
// and what leads there. Nor is one in the places that Open searches, if its sum is another. The
// library here leaves a file when it is loaded.
func TestPlantedLibraries(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("a C compiler on Linux makes the libraries")
	}
	root := t.TempDir()
	source, evil, mark := filepath.Join(root, "evil.c"), filepath.Join(root, "evil.so"), filepath.Join(root, "was-loaded")
	require.NoError(t, os.WriteFile(source, fmt.Appendf(nil, `#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { FILE *f = fopen(%q, "w"); if (f) fclose(f); }`, mark), 0o600))
	said, err := exec.Command(gcc, "-shared", "-fPIC", "-o", evil, source).CombinedOutput()
	require.NoError(t, err, "%s", said)
	code, err := os.ReadFile(evil)
	require.NoError(t, err)
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)

	layouts := []struct {
		name  string
		files []string // the library's; with a "@" links to it; else of the module or the program
		env   string
	}{
		{"working directory", []string{"LIB"}, ""},
		{"its .dawn", []string{"go.mod", ".dawn/LIB"}, ""},
		{"the parent's .dawn", []string{"../go.mod", "../.dawn/LIB"}, ""},
		{"the .dawn of the parent's parent", []string{"../../go.mod", "../../.dawn/LIB"}, ""},
		{"its build", []string{"go.mod", "build/LIB", "bin/LIB", "lib/LIB"}, ""},
		{"its cache", []string{"mrprism/dawn/LIB", ".cache/mrprism/dawn/LIB"}, ""},
		{"relative XDG_CACHE_HOME", []string{"mrprism/dawn/LIB"}, "XDG_CACHE_HOME=."},
		{"relative XDG_CACHE_HOME of a folder", []string{"cache/mrprism/dawn/LIB"}, "XDG_CACHE_HOME=cache"},
		{"empty HOME", []string{".cache/mrprism/dawn/LIB", "mrprism/dawn/LIB"}, "HOME= XDG_CACHE_HOME="},
		{"relative HOME", []string{".cache/mrprism/dawn/LIB"}, "HOME=. XDG_CACHE_HOME="},
		{"relative HOME of a folder", []string{"home/.cache/mrprism/dawn/LIB"}, "HOME=home XDG_CACHE_HOME="},
		{"LD_LIBRARY_PATH .", []string{"LIB"}, "LD_LIBRARY_PATH=."},
		{"LD_LIBRARY_PATH empty", []string{"LIB"}, "LD_LIBRARY_PATH=:"},
		{"LD_LIBRARY_PATH ends empty", []string{"LIB"}, "LD_LIBRARY_PATH=/usr/lib:"},
		{"LD_LIBRARY_PATH of the folder", []string{"LIB"}, "LD_LIBRARY_PATH=HERE"},
		{"relative variable", []string{"LIB"}, "MRPRISM_DAWN_LIB=."},
		{"relative variable of a folder", []string{".dawn/LIB"}, "MRPRISM_DAWN_LIB=.dawn"},
		{"variable with a bare name", []string{"LIB"}, "MRPRISM_DAWN_LIB=libwebgpu_wrapper.so LD_LIBRARY_PATH=HERE"},
		{"the user's cache", []string{"cache/mrprism/dawn/LIB"}, "XDG_CACHE_HOME=HERE/cache"},
		{"link in the user's cache", []string{"@cache/mrprism/dawn/LIB"}, "XDG_CACHE_HOME=HERE/cache"},
		{"HOME", []string{".cache/mrprism/dawn/LIB"}, "HOME=HERE XDG_CACHE_HOME="},
		{"beside the program", []string{"program", "LIB"}, ""},
		{"link beside the program", []string{"program", "@LIB"}, ""},
		{"PATH .", []string{"program", "LIB"}, "PATH=."},
	}
	run := func(folder string, program string, env ...string) string {
		c := exec.Command(os.Args[0])
		c.Path, c.Args[0], c.Dir = program, "program", folder
		c.Env = append(append(os.Environ(), planted+"=1", LibraryVariable+"=", "XDG_CACHE_HOME="+filepath.Join(root, "none")), env...)
		said, err := c.CombinedOutput()
		require.NoError(t, err, "%s", said)
		return string(said)
	}
	for i, l := range layouts {
		folder := filepath.Join(root, fmt.Sprint(i), "archive", "images")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		executable := os.Args[0]
		for _, file := range l.files {
			path := filepath.Join(folder, strings.TrimPrefix(file, "@"))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			switch {
			case filepath.Base(path) == "go.mod":
				require.NoError(t, os.WriteFile(path, []byte("module mrprism\n"), 0o600))
			case file == "program":
				executable = "./program"
				require.NoError(t, os.WriteFile(path, program, 0o700))
			default:
				for _, name := range []string{"libwebgpu_dawn.so", "libwebgpu_wrapper.so"} {
					path := filepath.Join(filepath.Dir(path), name)
					if file[0] == '@' {
						require.NoError(t, os.Symlink(evil, path))
					} else {
						require.NoError(t, os.WriteFile(path, code, 0o700))
					}
				}
			}
		}
		text := run(folder, executable, strings.Fields(strings.ReplaceAll(l.env, "HERE", folder))...)
		assert.NoFileExists(t, mark, "%s: %s", l.name, text)
		assert.Contains(t, text, gpu.ErrNoAdapter.Error(), l.name)
		_ = os.Remove(mark)
	}

	text := run(root, os.Args[0], LibraryVariable+"="+evil)
	assert.FileExists(t, mark, "a library that the user names is loaded")
	assert.Contains(t, text, "unchecked")
}

// The prebuilt library is loaded from the user's cache, and nothing is said of it.
func TestPrebuiltLibrary(t *testing.T) {
	name, sum := prebuilt()
	d := open(t)
	if name == "" || runtime.GOOS != "linux" || !strings.HasSuffix(d.l.path, name) {
		t.Skipf("%s is not the prebuilt library of Linux", d.l.path)
	}
	cache := t.TempDir()
	path := filepath.Join(cache, "mrprism", "dawn", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.Symlink(d.l.path, path))
	t.Setenv(LibraryVariable, "")
	t.Setenv("XDG_CACHE_HOME", cache)
	l, err := loadLibrary(func(text string) { t.Error(text) })
	require.NoError(t, err)
	assert.Equal(t, path, l.path)
	_, err = loadChecked(d.l.path, strings.Repeat("0", len(sum)))
	assert.ErrorIs(t, err, errForeign)
}
