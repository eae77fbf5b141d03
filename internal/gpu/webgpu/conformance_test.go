package webgpu_test

import (
	"testing"

	"mrprism/internal/gpu/gputest"
	"mrprism/internal/gpu/webgpu"
)

func TestConformance(t *testing.T) {
	gputest.Require(t, backend)
	gputest.TestDevice(t, webgpu.Open)
}
