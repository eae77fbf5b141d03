//go:build !((linux || darwin) && (amd64 || arm64))

package dawn

import (
	"context"
	"fmt"
	"runtime"

	"mrprism/internal/gpu"
)

// Open reports that there is no Dawn on this platform; programs then use wgpu-native.
func Open(context.Context, Options) (gpu.Device, error) {
	return nil, fmt.Errorf("%w: no Dawn backend on %s/%s", gpu.ErrNoAdapter, runtime.GOOS, runtime.GOARCH)
}
