package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The modules in the tree are what this program writes.
func TestModules(t *testing.T) {
	for name, want := range modules() {
		got, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		assert.Equal(t, want, got, "%s is out of date: go generate ./shaders/vector", name)
		assert.Less(t, len(want), 17_500, name)
	}
}
