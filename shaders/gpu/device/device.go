// Package device opens a gpu.Device by name. Programs use the backends only through this package.
package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/processor"
	"mrprism/shaders/gpu/reference"
)

// Variable is the environment variable that names the device if no flag does.
const Variable = "MRPRISM_DEVICE"

// Names of devices. Auto chooses the best device, see Open. Processor computes in Go in float32,
// and Reference in float64.
const (
	Auto      = "auto"
	Processor = "processor"
	Reference = "reference"
)

// Options say how to open a device. The zero value fits most programs.
type Options struct {
	Note func(string) // gets the reasons of auto's choice, and which library is loaded unchecked; may be nil

	// Compare measures how many times as fast as an adapter that emulates a GPU Processor is. If it
	// fails or is nil, auto takes Processor. It is never called for a real GPU.
	// internal/page/choose has one.
	Compare func(ctx context.Context, adapter, processor gpu.Device) (ratio float64, err error)
}

func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// emulates says whether an adapter emulates a GPU on a processor that has vectors. Processor may
// then be faster.
func emulates(info gpu.Info) bool { return info.Kind == gpu.KindCPU && processor.HasVectors() }

// explained is a device with the reason of its choice.
type explained struct {
	gpu.Device
	why string
}

func (e *explained) Info() gpu.Info {
	info := e.Device.Info()
	info.Why = e.why
	return info
}

// faster returns the faster device, an adapter that emulates a GPU or Processor, and closes the
// other.
func (o *Options) faster(ctx context.Context, adapter gpu.Device) (gpu.Device, error) {
	direct := processor.Open()
	name := adapter.Info().Adapter
	taken, left := &explained{direct, name + " emulates a GPU on this processor, which takes longer"}, adapter
	if o.Compare != nil {
		ratio, err := o.Compare(ctx, adapter, direct)
		switch {
		case ctx.Err() != nil:
			_ = adapter.Close()
			return nil, ctx.Err()
		case err != nil:
			taken.why = fmt.Sprintf("%s emulates a GPU on this processor, and was not compared: %v", name, err)
		case ratio >= 1:
			taken.why = timesAsFast(ratio, name)
		default:
			taken, left = &explained{adapter, timesAsFast(1/ratio, direct.Info().Adapter)}, direct
		}
	}
	_ = left.Close() // errors of the device that is not used do not matter
	o.note("computing with %s: %s", taken.Info(), taken.why)
	return taken, nil
}

func timesAsFast(ratio float64, other string) string {
	if ratio < 1.05 {
		return fmt.Sprintf("as fast as %s here", other)
	}
	return fmt.Sprintf("%.1f times as fast as %s here", ratio, other)
}

// backend is one way to a GPU.
type backend struct {
	name  string
	start func(context.Context, Options) (gpu.Device, error)
}

// open opens the device. The device's threads compute without subnormals.
func (b backend) open(ctx context.Context, o Options) (d gpu.Device, err error) {
	withoutSubnormals(func() { d, err = b.start(ctx, o) })
	return d, err
}

// Names lists what Open accepts in this program, auto first.
func Names() []string {
	names := []string{Auto}
	for _, b := range backends {
		names = append(names, b.name)
	}
	return append(names, Processor, Reference)
}

// Open opens the named device. An empty name means the device in MRPRISM_DEVICE, or auto. Auto is
// the first GPU backend that opens, Dawn before wgpu-native. If its adapter emulates a GPU on a
// processor, and Processor has vectors, auto is the faster of the two by Options.Compare, or
// Processor. If no backend opens, the error wraps gpu.ErrNoAdapter and has the reason of each
// backend: the caller decides whether to compute on Processor. MRPRISM_DEBUG wraps the device, see
// DebugVariable.
func Open(ctx context.Context, name string, options Options) (gpu.Device, error) {
	if name == "" {
		name = os.Getenv(Variable)
	}
	d, err := openNamed(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return debugged(d), nil
}

func openNamed(ctx context.Context, name string, options Options) (gpu.Device, error) {
	switch name {
	case "", Auto:
		return openBest(ctx, options)
	case Processor:
		return processor.Open(), nil
	case Reference:
		return reference.Open(), nil
	}
	for _, b := range backends {
		if b.name == name {
			d, err := b.open(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", name, err)
			}
			return d, nil
		}
	}
	return nil, fmt.Errorf("no device is called %q: choose one of %s", name, strings.Join(Names(), ", "))
}

func openBest(ctx context.Context, options Options) (gpu.Device, error) {
	var failures []error
	for _, b := range backends {
		d, err := b.open(ctx, options)
		if err == nil && emulates(d.Info()) {
			return options.faster(ctx, d)
		}
		if err == nil {
			if len(failures) > 0 {
				options.note("computing with %s; %v", d.Info(), errors.Join(failures...))
			}
			return d, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failures = append(failures, fmt.Errorf("%s: %w", b.name, err))
	}
	return nil, fmt.Errorf("no GPU could be used; the device processor computes without one, more slowly: %w", errors.Join(failures...))
}
