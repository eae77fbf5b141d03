package webgpu_test

import (
	"testing"

	"mrprism/internal/compute/gpu/gputest"
	"mrprism/internal/compute/gpu/webgpu"
)

func TestConformance(t *testing.T) {
	gputest.Require(t, backend)
	gputest.TestDevice(t, webgpu.Open)
}
