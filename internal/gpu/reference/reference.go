// Package reference is the gpu.Device computed in Go and float64: the oracle of every test. It runs each program's Body and never its
// WGSL, and is never optimised.
package reference

import (
	"context"
	"runtime"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/host"
)

// Device keeps F32 buffers as float64, so that finite differences stay exact; other types as themselves.
type Device struct{ *host.Device[float64] }

var _ gpu.Device = (*Device)(nil)

// Open gives a device; it needs no hardware and cannot fail.
func Open() *Device {
	info := gpu.Info{Backend: "reference", Adapter: "Go float64", Driver: runtime.Version(), Kind: gpu.KindReference}
	return &Device{host.Open(info, func(_ context.Context, p *gpu.Program, params any, arguments []gpu.Array) error {
		p.Body(params, arguments)
		return nil
	})}
}

// Float64 gives the exact values of an F32 buffer, shared with the device: changing the slice changes the buffer.
func (d *Device) Float64(b gpu.Buffer) []float64 { return d.Values(b) }
