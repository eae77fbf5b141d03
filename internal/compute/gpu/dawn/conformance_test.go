package dawn_test

import (
	"context"
	"testing"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/dawn"
	"mrprism/internal/compute/gpu/gputest"
)

func TestConformance(t *testing.T) {
	gputest.Require(t, "dawn")
	gputest.TestDevice(t, func(ctx context.Context) (gpu.Device, error) { return dawn.Open(ctx, dawn.Options{}) })
}
