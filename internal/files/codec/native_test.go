//go:build unix

package codec

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/raster"
)

// installed puts a shell script into PATH in place of opj_decompress.
func installed(t *testing.T, script string) (folder string) {
	folder = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "opj_decompress"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	return folder
}

var small = Form{W: 7, H: 5, Components: 1, Bits: 8}

// A program that is not installed is named, with what to install.
func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for kind, program := range map[Kind]string{JPEG2000: "opj_decompress", HTJ2K: "opj_decompress", JPEGLS: "dcmdjpls"} {
		var refused raster.Refused
		require.ErrorAs(t, Missing(kind), &refused)
		assert.Contains(t, refused.Problem, string(kind)+", which MrPrism reads by the program "+program)
		assert.Contains(t, refused.Advice, "install")
	}
}

// A program in the working directory is never run, whatever PATH says.
func TestProgramOfTheWorkingDirectory(t *testing.T) {
	folder := installed(t, "touch ran")
	t.Chdir(folder)
	for _, path := range []string{".", "", ":", "../" + filepath.Base(folder)} {
		t.Setenv("PATH", path)
		assert.Error(t, Missing(JPEG2000), "PATH=%q", path)
		_, _, err := platform.Decode(JPEG2000, nil, small)
		assert.Error(t, err, "PATH=%q", path)
	}
	assert.NoFileExists(t, "ran")
}

// A program that does not end is ended, and one that takes too much memory or says that it failed
// is an error. None leaves anything behind.
func TestLimitsOfPrograms(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	defer func(before time.Duration) { longest = before }(longest)
	longest = 2 * time.Second
	scripts := map[string]string{
		"exec sleep 60":                        "opj_decompress did not end within 2s",
		"echo no >&2\nexit 3":                  `opj_decompress refuses it: "no"`,
		"exit 0":                               "opj_decompress wrote no picture",
		"head -c 1000000 /dev/zero > out.rawl": "opj_decompress wrote no picture of 7×5 pixels",
	}
	if runtime.GOOS == "linux" {
		scripts["ulimit -v >&2\nexit 1"] = `refuses it: "2097152"`
	}
	for script, want := range scripts {
		installed(t, script)
		begun := time.Now()
		_, err := Decode(JPEG2000, nil, small)
		assert.ErrorContains(t, err, want)
		assert.Less(t, time.Since(begun), 20*time.Second)
	}
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
}
