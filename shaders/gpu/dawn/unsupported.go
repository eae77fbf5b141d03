//go:build !(((linux || darwin) && (amd64 || arm64)) || (windows && amd64))

package dawn

import (
	"context"
	"fmt"
	"runtime"

	"mrprism/shaders/gpu"
)

// Open returns an error: there is no Dawn on this platform, and programs use wgpu-native.
func Open(context.Context, string, func(string)) (gpu.Device, error) {
	return nil, fmt.Errorf("%w: no Dawn backend on %s/%s", gpu.ErrNoAdapter, runtime.GOOS, runtime.GOARCH)
}
