//go:build !js

package webgpu_test

import (
	"testing"

	"mrprism/shaders/gpu/gputest/browsertest"
)

// The browser half of this package passes its tests in Chromium.
func TestInBrowser(t *testing.T) { browsertest.Run(t, ".") }
