//go:build !js

package device

import (
	"context"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/dawn"
)

var card = backend{"dawn", func(ctx context.Context, o Options) (gpu.Device, error) {
	return dawn.Open(ctx, func(text string) { o.note("%s", text) })
}}
