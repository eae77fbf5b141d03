// Package reference is the gpu.Device in Go and float64, the oracle of every test. It runs each
// program's Body, never its WGSL, and is never optimised.
package reference

import (
	"context"
	"runtime"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/host"
)

// Device keeps F32 and F16 buffers as float64: finite differences stay exact.
type Device struct{ *host.Device[float64] }

var _ gpu.Device = (*Device)(nil)

// Open opens a device. It needs no hardware and cannot fail.
func Open() *Device {
	info := gpu.Info{Backend: "reference", Adapter: "Go float64", Driver: runtime.Version(), Kind: gpu.KindReference}
	return &Device{host.Open(info, func(_ context.Context, p *gpu.Program, params any, arguments []gpu.Array) error {
		p.Body(params, arguments)
		return nil
	})}
}

// Float64 returns the memory of an F32 buffer: changing the slice changes the buffer.
func (d *Device) Float64(b gpu.Buffer) []float64 { return d.Values(b) }
