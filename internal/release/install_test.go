//go:build !js

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mrprism/internal/program/programtest"

	"github.com/stretchr/testify/require"
)

// make install puts programs where PREFIX says, and beside them what their flags are known by.
func TestInstall(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is missing")
	}
	prefix := t.TempDir()
	c := exec.Command("make", "install", "BUILT="+programtest.Build(t, ".", "./cmd/segment"), "PREFIX="+prefix)
	c.Dir = "../.."
	output, err := c.CombinedOutput()
	require.NoError(t, err, "%s", output)
	output, err = exec.Command(filepath.Join(prefix, "bin", "mrprism-segment"), "-version").Output()
	require.NoError(t, err)
	require.Contains(t, string(output), "MrPrism segment")
	for _, path := range []string{"man/man1/mrprism-segment.1", "zsh/site-functions/_mrprism-segment", "fish/vendor_completions.d/mrprism-segment.fish"} {
		text, err := os.ReadFile(filepath.Join(prefix, "share", path))
		require.NoError(t, err)
		require.Contains(t, string(text), "quiet", path)
	}
	completes := `. "$0" && COMP_WORDS=(mrprism-segment -qui) COMP_CWORD=1 && _mrprism_segment mrprism-segment -qui && echo "${COMPREPLY[*]}"`
	output, err = exec.Command("bash", "-c", completes, filepath.Join(prefix, "share/bash-completion/completions/mrprism-segment")).Output()
	require.NoError(t, err)
	require.Equal(t, "-quiet\n", string(output))
}
