//go:build !js

package shaders

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/compute/gpu/gputest/browsertest"

	"github.com/stretchr/testify/require"
)

// The operators pass all their tests in Chromium.
func TestInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a minute on SwiftShader")
	}
	if folder := filepath.Join("..", "..", "shared", "vectors"); os.Getenv("MRPRISM_VECTORS") == "" {
		if _, err := os.Stat(folder); err == nil { // the browser's tests read only folders that are named
			absolute, err := filepath.Abs(folder)
			require.NoError(t, err)
			t.Setenv("MRPRISM_VECTORS", absolute)
		}
	}
	browsertest.Run(t, ".")
}
