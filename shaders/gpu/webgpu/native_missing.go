//go:build !js && !cgo

package webgpu

import (
	"context"
	"fmt"

	"mrprism/shaders/gpu"
)

// Open returns an error: a program built with CGO_ENABLED=0 has no wgpu-native.
func Open(context.Context) (gpu.Device, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo and has no wgpu-native; build it with CGO_ENABLED=1 and a C compiler",
		gpu.ErrNoAdapter)
}
