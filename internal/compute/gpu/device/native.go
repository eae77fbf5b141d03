//go:build !js

package device

import (
	"context"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/dawn"
	"mrprism/internal/compute/gpu/webgpu"
)

var backends = []backend{
	{"dawn", func(ctx context.Context, o Options) (gpu.Device, error) {
		return flushing(func() (gpu.Device, error) { return dawn.Open(ctx, dawn.Options{Library: o.DawnLibrary}) })
	}},
	{"wgpu", func(ctx context.Context, _ Options) (gpu.Device, error) {
		return flushing(func() (gpu.Device, error) { return webgpu.Open(ctx) })
	}},
}

// flushing opens a device whose threads compute without subnormals.
func flushing(open func() (gpu.Device, error)) (d gpu.Device, err error) {
	withoutSubnormals(func() { d, err = open() })
	return d, err
}
