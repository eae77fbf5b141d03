// Package device opens a gpu.Device by name. Programs use the backends only through this package.
package device

import (
	"cmp"
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
}

func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

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

// emulates says whether an adapter emulates a GPU on a processor that has vectors.
func emulates(info gpu.Info) bool { return info.Kind == gpu.KindCPU && processor.HasVectors() }

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
// the first GPU backend that opens, Dawn before wgpu-native, or Processor if it has vectors and the
// adapter only emulates a GPU on the processor. If no backend opens, the error wraps
// gpu.ErrNoAdapter and has the reason of each: the caller decides whether to compute on Processor.
// MRPRISM_DEBUG wraps the device, see DebugVariable.
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

// OpenAny is Open, but it opens Processor, and tells the note, if no GPU can be used and nobody
// named a device.
func OpenAny(ctx context.Context, name string, options Options) (gpu.Device, error) {
	d, err := Open(ctx, name, options)
	wished := cmp.Or(name, os.Getenv(Variable), Auto)
	if errors.Is(err, gpu.ErrNoAdapter) && wished == Auto && ctx.Err() == nil {
		options.note("%v\nthe CPU computes instead: it takes longer and gives the same result", err)
		return Open(ctx, Processor, Options{})
	}
	return d, err
}

// ErrUnknown is the kind of Open's errors about a name that is none of Names.
var ErrUnknown = errors.New("no device is called")

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
	return nil, fmt.Errorf("%w %q: choose one of %s", ErrUnknown, name, strings.Join(Names(), ", "))
}

func openBest(ctx context.Context, options Options) (gpu.Device, error) {
	var failures []error
	for _, b := range backends {
		d, err := b.open(ctx, options)
		if err == nil && emulates(d.Info()) {
			taken := &explained{processor.Open(), d.Info().Adapter + " emulates a GPU on this processor, which takes longer"}
			_ = d.Close() // errors of the device that is not used do not matter
			options.note("computing with %s: %s", taken.Info(), taken.why)
			return taken, nil
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
