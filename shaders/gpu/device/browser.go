//go:build js

package device

import (
	"context"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/webgpu"
)

var backends = []backend{
	{"browser", func(ctx context.Context, _ Options) (gpu.Device, error) { return webgpu.Open(ctx) }},
}
