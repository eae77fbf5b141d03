//go:build js

package device

import (
	"context"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/webgpu"
)

var backends = []backend{
	{"browser", func(ctx context.Context, _ Options) (gpu.Device, error) { return webgpu.Open(ctx) }},
}
