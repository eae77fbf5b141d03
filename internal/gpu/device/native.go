//go:build !js

package device

import (
	"context"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/dawn"
	"mrprism/internal/gpu/webgpu"
)

var backends = []backend{
	{"dawn", func(ctx context.Context, o Options) (gpu.Device, error) {
		return dawn.Open(ctx, dawn.Options{Library: o.DawnLibrary})
	}},
	{"wgpu", func(ctx context.Context, _ Options) (gpu.Device, error) { return webgpu.Open(ctx) }},
}
