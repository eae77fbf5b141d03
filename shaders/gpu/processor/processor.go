// Package processor is the gpu.Device in Go and float32, for machines without a GPU. It runs each
// program's Fast. A program without one runs its Body on float64 copies of the arguments.
package processor

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/host"
	"mrprism/shaders/pulse"
	"mrprism/shaders/vector"
)

const (
	pieces = 8 // of a dispatch, for each processor
	// patience is the time between two turns of the browser, which take up to 5 ms each.
	patience = 30 * time.Millisecond
)

// Device is the processor of this machine.
type Device struct {
	*host.Device[float32]
	yielded time.Time
}

var _ gpu.Device = (*Device)(nil)

// HasVectors says whether the processor computes in vectors, which is several times as fast.
func HasVectors() bool { return vector.Current().Name != "Go" }

// Open opens a device. It needs no hardware and cannot fail.
func Open() *Device {
	d := &Device{}
	name := "Go float32"
	if HasVectors() {
		name += " in " + vector.Current().Name
	}
	exact := vector.Current().Exact
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "wasm" {
		name, exact = name+" on "+runtime.GOARCH, false // Go fuses sums of float64, in what surrounds networks
	}
	info := gpu.Info{Backend: "processor", Adapter: name, Driver: runtime.Version(), Kind: gpu.KindProcessor, Exact: exact}
	d.Device = host.Open(info, d.run)
	return d
}

func (d *Device) run(ctx context.Context, p *gpu.Program, params any, arguments []gpu.Array32) error {
	d.yield()
	if p.Fast == nil {
		runBody(p, params, arguments)
		return nil
	}
	p.Fast(params, arguments, func(n int, part func(from, to int)) { d.split(ctx, n, part) })
	return ctx.Err()
}

// yield lets the browser deliver messages to its worker from time to time. The browser does so only
// while all goroutines wait.
func (d *Device) yield() {
	if runtime.GOOS != "js" || time.Since(d.yielded) < patience {
		return
	}
	time.Sleep(time.Millisecond) // the shortest sleep in which the browser gets its turn
	d.yielded = time.Now()
}

// split is the gpu.Split of a dispatch.
func (d *Device) split(ctx context.Context, n int, part func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	count := min(n, workers*pieces)
	piece := func(i int) {
		pulse.Beat()
		if ctx.Err() == nil {
			part(i*n/count, (i+1)*n/count)
		}
	}
	if workers == 1 {
		for i := range count {
			d.yield()
			piece(i)
		}
		return
	}
	var panicked atomic.Value
	shared := sharedCrew.do(count, workers, func(i int) {
		defer func() {
			if r := recover(); r != nil {
				panicked.CompareAndSwap(nil, fmt.Sprint(r))
			}
		}()
		piece(i)
	})
	if r := panicked.Load(); r != nil {
		panic(r) // package host adds the kernel's name
	}
	if !shared { // another device is using the threads
		for i := range count {
			piece(i)
		}
	}
}

// runBody computes a program by its Body, on copies of the arguments in float64.
func runBody(p *gpu.Program, params any, arguments []gpu.Array32) {
	copies := make([]gpu.Array, len(arguments))
	for i, a := range arguments {
		copies[i] = gpu.Array{F: converted[float64](a.F), I: a.I, U: a.U, B: a.B}
	}
	p.Body(params, copies)
	for i, access := range p.Arguments {
		if access == gpu.ReadWrite {
			copy(arguments[i].F, converted[float32](copies[i].F))
		}
	}
}

func converted[To, From gpu.Float](values []From) []To {
	out := make([]To, len(values))
	for i, v := range values {
		out[i] = To(v)
	}
	return out
}
