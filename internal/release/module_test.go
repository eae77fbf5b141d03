//go:build !js

package main

import (
	"archive/zip"
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mrprism"
	"mrprism/internal/data/synthetic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const path, number = "example.org/Me/mr-prism", "v0.1.2"

// clone skips the test outside of a clone of the repository.
func clone(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("this is no clone: ", err)
	}
}

// called runs a program in a folder and returns what it prints.
func called(t *testing.T, dir string, environment []string, name string, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, arguments...)
	c.Dir, c.Env = dir, append(os.Environ(), environment...)
	output, err := c.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, arguments, output)
	return strings.TrimSpace(string(output))
}

// A tree that is renamed has packages that import each other under the new path, in all modules,
// and nothing of the old one.
func TestModuleIsRenamed(t *testing.T) {
	clone(t)
	old := reflect.TypeFor[mrprism.Model]().PkgPath()
	tree := filepath.Join(t.TempDir(), "tree")
	called(t, "../..", nil, "git", "clone", "--quiet", "--shared", ".", tree)
	script := filepath.Join(tree, "internal", "release", "module.sh")
	called(t, tree, nil, script, path)
	for _, dir := range []string{".", "cmd/study", "cmd/batch"} {
		all := called(t, filepath.Join(tree, dir), []string{"GOFLAGS="}, "go", "list", "-deps", "-test", "./...")
		assert.Contains(t, all, path+"/internal/segment")
		assert.NotContains(t, "\n"+all, "\n"+old)
	}
	flags := called(t, tree, nil, "git", "grep", "-h", "-e", "-X ")
	assert.NotContains(t, flags, "-X "+old+"/")
	assert.Equal(t, 2, strings.Count(flags, "-X "+path+"/internal/program/version.built="), "Makefile and release.sh")
	called(t, tree, nil, script, "example.net/x")
	assert.NotContains(t, called(t, tree, nil, "git", "grep", "-h", "", "--", "*.mod"), path, "renamed again")
	for _, wrong := range []string{"mrprism", "example.org", "Example.org/x", "example.org/x y", "example.org/../x"} {
		assert.Error(t, exec.Command(script, wrong).Run(), wrong)
	}
}

// What is packed is a module that go takes, small enough, and without the modules inside it. A
// program of ten lines that gets it writes the mask that the library writes here.
func TestModuleIsPacked(t *testing.T) {
	clone(t)
	proxy := t.TempDir()
	called(t, ".", nil, "./module.sh", path, number, proxy)
	packed, err := zip.OpenReader(filepath.Join(proxy, "example.org", "!me", "mr-prism", "@v", number+".zip"))
	require.NoError(t, err)
	defer packed.Close()
	names, size := "", uint64(0)
	for _, f := range packed.File {
		names, size = names+f.Name+"\n", size+f.CompressedSize64
	}
	assert.Contains(t, names, path+"@"+number+"/weights/shipped/fundus.safetensors\n")
	assert.NotContains(t, names, "/cmd/study/")
	assert.Less(t, size, uint64(40<<20))
	if testing.Short() {
		t.Skip("go get compiles all packages again")
	}
	dir, photo := t.TempDir(), "photo.png"
	var drawn bytes.Buffer
	require.NoError(t, png.Encode(&drawn, synthetic.Photograph(7, 640, 480)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, photo), drawn.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(tenLines), 0o600))
	cache := called(t, dir, nil, "go", "env", "GOMODCACHE")
	environment := []string{
		"GOPROXY=file://" + proxy + ",file://" + cache + "/cache/download,off", "GONOSUMDB=*", "GOFLAGS=-modcacherw",
		"GOMODCACHE=" + t.TempDir(), "MRPRISM_DEVICE=processor",
	}
	called(t, dir, environment, "go", "mod", "init", "example.org/ten")
	called(t, dir, environment, "go", "get", path+"@"+number)
	called(t, dir, environment, "go", "run", ".")
	got, err := os.ReadFile(filepath.Join(dir, "cup.png"))
	require.NoError(t, err)
	m, err := mrprism.Open("../../weights/shipped/fundus.safetensors")
	require.NoError(t, err)
	defer m.Close()
	img, err := mrprism.ReadImage(filepath.Join(dir, photo))
	require.NoError(t, err)
	r, err := m.Segment(t.Context(), img, mrprism.Device("processor"))
	require.NoError(t, err)
	require.NoError(t, r.Structures[1].WritePNG(filepath.Join(dir, "here.png")))
	want, err := os.ReadFile(filepath.Join(dir, "here.png"))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

const tenLines = `package main

import (
	"context"
	"log"

	mrprism "example.org/Me/mr-prism"
	_ "example.org/Me/mr-prism/weights/shipped"
)

func main() {
	m, err := mrprism.Open("fundus")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	img, err := mrprism.ReadImage("photo.png")
	if err != nil {
		log.Fatal(err)
	}
	r, err := m.Segment(context.Background(), img)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Structures {
		if err := s.WritePNG(s.Name + ".png"); err != nil {
			log.Fatal(err)
		}
	}
}
`
