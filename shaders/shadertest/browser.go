//go:build !js

package shadertest

import (
	"testing"

	"mrprism/shaders/gpu/gputest/browsertest"
)

// InBrowser runs the tests of the package in whose folder it runs in Chromium.
func InBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: a minute on SwiftShader")
	}
	browsertest.Run(t, ".")
}
