package dawn_test

import (
	"context"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/dawn"
	"mrprism/internal/gpu/gputest"
)

func TestConformance(t *testing.T) {
	gputest.Require(t, "dawn")
	gputest.TestDevice(t, func(ctx context.Context) (gpu.Device, error) { return dawn.Open(ctx, dawn.Options{}) })
}
