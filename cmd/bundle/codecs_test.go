package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Decoders that npm has installed become modules and programs; without npm the page is built all
// the same.
func TestCodecs(t *testing.T) {
	folder, files := t.TempDir(), map[string][]byte{}
	require.NoError(t, addCodecs(files, folder))
	assert.Empty(t, files)
	for _, c := range codecs {
		path := filepath.Join(folder, c.file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path+".js", []byte("var "+c.starts), 0o666))
		require.NoError(t, os.WriteFile(path+".wasm", []byte(c.name), 0o666))
	}
	require.NoError(t, addCodecs(files, folder))
	assert.Equal(t, "var CharLSWASM\nexport default CharLSWASM;\n", string(files["charls.js"]))
	assert.Equal(t, "openjph", string(files["openjph.wasm"]))
	assert.Len(t, files, 2*len(codecs))
	for name := range files {
		assert.True(t, isCodec(name), "%s is kept once it is used, not from the first visit", name)
	}
}
