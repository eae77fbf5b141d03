package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The next build does not take a file for whole if the one before ended in its middle, and
// compresses again for another quality.
func TestCompressedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.js")
	content := bytes.Repeat([]byte("const answer = 42; // "), 500)
	require.NoError(t, write(path, content, 9))
	stamp := filepath.Join(filepath.Dir(path), ".page.js.compressed")
	before, err := os.ReadFile(stamp)
	require.NoError(t, err)

	require.NoError(t, os.Remove(stamp)) // it is written last
	require.NoError(t, os.WriteFile(path+".br", []byte("cut off"), 0o644))
	require.NoError(t, write(path, content, 9))
	compressed, err := os.Open(path + ".br")
	require.NoError(t, err)
	defer compressed.Close()
	whole, err := io.ReadAll(brotli.NewReader(compressed))
	require.NoError(t, err)
	assert.Equal(t, content, whole)

	require.NoError(t, write(path, content, 1))
	after, err := os.ReadFile(stamp)
	require.NoError(t, err)
	assert.NotEqual(t, before, after)
}
