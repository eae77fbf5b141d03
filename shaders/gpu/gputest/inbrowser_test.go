//go:build !js

package gputest_test

import (
	"testing"

	"mrprism/shaders/gpu/gputest/browsertest"
)

// The devices of a page pass the conformance test in Chromium.
func TestInBrowser(t *testing.T) { browsertest.Run(t, ".") }
