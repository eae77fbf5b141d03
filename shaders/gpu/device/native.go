//go:build !js

package device

import (
	"context"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/dawn"
	"mrprism/shaders/gpu/webgpu"
)

var backends = []backend{
	{"dawn", func(ctx context.Context, o Options) (gpu.Device, error) {
		return dawn.Open(ctx, func(text string) { o.note("%s", text) })
	}},
	{"wgpu", func(ctx context.Context, _ Options) (gpu.Device, error) { return webgpu.Open(ctx) }},
}
