//go:build !js

package shaders_test

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/shaders/shadertest"

	"github.com/stretchr/testify/require"
)

// What needs all families passes its tests in Chromium.
func TestInBrowser(t *testing.T) {
	if folder := filepath.Join("..", "..", "shared", "vectors"); os.Getenv("MRPRISM_VECTORS") == "" {
		if _, err := os.Stat(folder); err == nil { // the browser's tests read only folders that are named
			absolute, err := filepath.Abs(folder)
			require.NoError(t, err)
			t.Setenv("MRPRISM_VECTORS", absolute)
		}
	}
	shadertest.InBrowser(t)
}
