// Package device opens the gpu.Device that a program's user asked for, by name. Programs reach the backends through it only.
package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/processor"
	"mrprism/internal/gpu/reference"
)

// Variable is the environment variable that names the device where no flag does.
const Variable = "MRPRISM_DEVICE"

// Names of devices: auto takes the best GPU that there is; the others compute in Go, the processor in float32, the reference in float64.
const (
	Auto      = "auto"
	Processor = "processor"
	Reference = "reference"
)

// Options say how to open a device. The zero value is what most programs want.
type Options struct {
	DawnLibrary string       // path of the Dawn library; where empty, MRPRISM_DAWN_LIB and the usual places
	Note        func(string) // is told, where auto passed a backend over, which and why; may be nil
}

func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

// emulated says that the adapter is the processor itself, which computes faster without it:
// natively, where it has vectors. ARCHITECTURE.md has the figures.
func emulated(info gpu.Info) bool {
	return info.Kind == gpu.KindCPU && runtime.GOOS != "js" && processor.HasVectors()
}

// backend is one way to a GPU.
type backend struct {
	name string
	open func(context.Context, Options) (gpu.Device, error)
}

// Names lists what Open accepts in this program, auto first.
func Names() []string {
	names := []string{Auto}
	for _, b := range backends {
		names = append(names, b.name)
	}
	return append(names, Processor, Reference)
}

// Open gives the named device; where name is empty, that of MRPRISM_DEVICE, else auto. Auto is the
// first GPU backend that opens, Dawn before wgpu-native, unless its adapter is a processor that
// emulates a GPU: then, natively, it is Processor where that has vectors. Where no backend opens
// the error wraps gpu.ErrNoAdapter and says of each why, and the caller decides whether to compute
// on Processor. MRPRISM_DEBUG wraps the device, see DebugVariable.
func Open(ctx context.Context, name string, options Options) (gpu.Device, error) {
	if name == "" {
		name = os.Getenv(Variable)
	}
	d, err := named(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return debugged(d), nil
}

func named(ctx context.Context, name string, options Options) (gpu.Device, error) {
	switch name {
	case "", Auto:
		return best(ctx, options)
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

func best(ctx context.Context, options Options) (gpu.Device, error) {
	var failures []error
	for _, b := range backends {
		d, err := b.open(ctx, options)
		if err == nil && emulated(d.Info()) {
			name := d.Info().Adapter
			if err := d.Close(); err != nil {
				return nil, fmt.Errorf("%s: %w", b.name, err)
			}
			d = processor.Open()
			options.note("computing with %s: the only adapter, %s, emulates a GPU on this processor and takes longer", d.Info(), name)
			return d, nil
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
	return nil, fmt.Errorf("no GPU could be used; -device processor computes without one, more slowly: %w", errors.Join(failures...))
}
