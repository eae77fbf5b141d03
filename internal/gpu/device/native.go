//go:build !js

package device

import (
	"context"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/webgpu"
)

var backends = []backend{
	{"wgpu", func(ctx context.Context, _ Options) (gpu.Device, error) { return webgpu.Open(ctx) }},
}
