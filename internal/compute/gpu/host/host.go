// Package host has the common part of the two devices in Go, the reference and the processor:
// buffers in Go's memory and lists of commands. The devices differ in the type of their numbers and
// in how they run a program.
package host

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"mrprism/internal/compute/gpu"
)

// Device is a gpu.Device. Its Info and Run come from the caller of Open.
type Device[F gpu.Float] struct {
	info     gpu.Info
	run      Run[F]
	prepared map[*gpu.Program]bool
	live     map[*buffer[F]]bool
	lost     chan error
	closed   bool
	arrays   []gpu.ArrayOf[F] // arguments of the current dispatch
}

// Run computes one dispatch of a program.
type Run[F gpu.Float] func(ctx context.Context, p *gpu.Program, params any, arguments []gpu.ArrayOf[F]) error

// Open returns a device that runs programs with run. Its limits are WebGPU's defaults, and buffers
// of up to 1 GiB.
func Open[F gpu.Float](info gpu.Info, run Run[F]) *Device[F] {
	info.Limits = gpu.DefaultLimits()
	info.Limits.StorageBinding, info.Limits.BufferSize = 1<<30, 1<<30
	return &Device[F]{info: info, run: run, prepared: map[*gpu.Program]bool{}, live: map[*buffer[F]]bool{}, lost: make(chan error, 1)}
}

// Info describes the device.
func (d *Device[F]) Info() gpu.Info { return d.info }

type buffer[F gpu.Float] struct {
	device *Device[F]
	spec   gpu.BufferSpec
	array  gpu.ArrayOf[F]
	kept   map[int]*gpu.Kept // by the first element of a view
	shared bool              // may change without Write: nothing is kept
}

func (b *buffer[F]) Spec() gpu.BufferSpec { return b.spec }

func (b *buffer[F]) Release() {
	delete(b.device.live, b)
	b.array, b.kept = gpu.ArrayOf[F]{}, nil
}

// written makes the kept data of the buffer stale.
func (b *buffer[F]) written() {
	for _, k := range b.kept {
		k.Expire()
	}
}

// Allocate creates zeroed buffers.
func (d *Device[F]) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := s.Validate(d.info.Limits); err != nil {
			return nil, err
		}
	}
	buffers := make([]gpu.Buffer, len(specs))
	for i, s := range specs {
		b := &buffer[F]{device: d, spec: s}
		switch s.Type {
		case gpu.F32, gpu.F16:
			b.array.F = make([]F, s.Elements)
		case gpu.I32:
			b.array.I = make([]int32, s.Elements)
		case gpu.U32:
			b.array.U = make([]uint32, s.Elements)
		case gpu.I8:
			b.array.B = make([]int8, s.Elements)
		}
		d.live[b] = true
		buffers[i] = b
	}
	return buffers, nil
}

// Values returns the memory of an F32 or F16 buffer: changing the slice changes the buffer.
func (d *Device[F]) Values(b gpu.Buffer) []F {
	own, err := d.own(b)
	if err != nil {
		panic(err)
	}
	own.written()
	own.shared = true
	return array[F](b).F
}

// Write copies src into dst from element offset on.
func (d *Device[F]) Write(dst gpu.Buffer, offset int, src []byte) error {
	if err := d.ready(context.Background()); err != nil {
		return err
	}
	own, err := d.own(dst)
	if err != nil {
		return err
	}
	own.written()
	spec, to := dst.Spec(), array[F](dst)
	if err := spec.ValidateWrite(offset, len(src)); err != nil {
		return err
	}
	switch spec.Type {
	case gpu.I32:
		copy(gpu.InMemory(to.I[offset:]), src)
	case gpu.U32:
		copy(gpu.InMemory(to.U[offset:]), src)
	case gpu.I8:
		for i, v := range src {
			to.B[offset+i] = int8(v)
		}
	default:
		if f, same := any(to.F).([]float32); same && spec.Type == gpu.F32 {
			copy(gpu.InMemory(f[offset:]), src)
			break
		}
		for i, v := range spec.Type.Decode(src) {
			to.F[offset+i] = F(v)
		}
	}
	return nil
}

// Read fills the ranges. It rounds F32 to float32 and F16 to half.
func (d *Device[F]) Read(ctx context.Context, ranges ...gpu.Range) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, r := range ranges {
		if _, err := d.own(r.Buffer); err != nil {
			return err
		}
		if err := r.Buffer.Spec().ValidateRead(r.Offset, len(r.Dst)); err != nil {
			return err
		}
	}
	for _, r := range ranges {
		spec, from := r.Buffer.Spec(), array[F](r.Buffer)
		n := len(r.Dst) / spec.Type.Size()
		switch spec.Type {
		case gpu.I32:
			copy(r.Dst, gpu.InMemory(from.I[r.Offset:][:n]))
		case gpu.U32:
			copy(r.Dst, gpu.InMemory(from.U[r.Offset:][:n]))
		case gpu.I8:
			for i, v := range from.B[r.Offset:][:n] {
				r.Dst[i] = byte(v)
			}
		default:
			f, same := any(from.F[r.Offset:][:n]).([]float32)
			if !same {
				f = make([]float32, n)
				for i, v := range from.F[r.Offset:][:n] {
					f[i] = float32(v)
				}
			}
			if spec.Type == gpu.F32 {
				copy(r.Dst, gpu.InMemory(f))
			} else {
				copy(r.Dst, spec.Type.Encode(f))
			}
		}
	}
	return nil
}

// Prepare checks the programs. There is nothing to compile.
func (d *Device[F]) Prepare(ctx context.Context, programs []*gpu.Program) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, p := range programs {
		if err := p.Validate(d.info.Limits); err != nil {
			return err
		}
		d.prepared[p] = true
	}
	return nil
}

type recording[F gpu.Float] struct {
	device   *Device[F]
	commands []gpu.Command
	released bool
}

func (r *recording[F]) Release() { r.commands, r.released = nil, true }

// Record checks the commands and copies their parameters: later changes have no effect.
func (d *Device[F]) Record(commands []gpu.Command) (gpu.Recording, error) {
	if err := d.ready(context.Background()); err != nil {
		return nil, err
	}
	r := &recording[F]{device: d, commands: make([]gpu.Command, len(commands))}
	for i, c := range commands {
		if err := c.Validate(d.info.Limits); err != nil {
			return nil, err
		}
		if c.Program != nil && !d.prepared[c.Program] {
			return nil, fmt.Errorf("%w: %s was recorded but never prepared", gpu.ErrValidation, c.Program.Name)
		}
		if err := d.check(c); err != nil {
			return nil, err
		}
		if v := reflect.ValueOf(c.Params); v.Kind() == reflect.Pointer {
			params := reflect.New(v.Type().Elem())
			params.Elem().Set(v.Elem())
			c.Params = params.Interface()
		}
		c.Arguments = slices.Clone(c.Arguments)
		r.commands[i] = c
	}
	return r, nil
}

// Run computes every command before it returns. It checks the context between commands.
func (d *Device[F]) Run(ctx context.Context, recordings ...gpu.Recording) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, recorded := range recordings {
		r, ok := recorded.(*recording[F])
		if !ok || r.device != d || r.released {
			return fmt.Errorf("%w: a recording of another device, or a released one", gpu.ErrValidation)
		}
		for _, c := range r.commands {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := d.check(c); err != nil {
				return err
			}
			if err := d.command(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Device[F]) command(ctx context.Context, c gpu.Command) error {
	if c.Program == nil {
		a := array[F](c.Clear)
		whole[F](c.Clear).written()
		clear(a.F)
		clear(a.I)
		clear(a.U)
		clear(a.B)
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("%s: %s: %v", d.info.Backend, c.Program.Name, r))
		}
	}()
	d.arrays = d.arrays[:0]
	for i, b := range c.Arguments {
		a := array[F](b)
		if c.Program.Arguments[i] == gpu.ReadWrite {
			whole[F](b).written()
		} else {
			a.Kept = kept[F](b)
		}
		d.arrays = append(d.arrays, a)
	}
	return d.run(ctx, c.Program, c.Params, d.arrays)
}

// Lost never receives: a device in Go cannot be lost.
func (d *Device[F]) Lost() <-chan error { return d.lost }

// Close forgets every buffer. The device must not be used afterwards.
func (d *Device[F]) Close() error {
	for b := range d.live {
		b.Release()
	}
	d.closed = true
	return nil
}

func (d *Device[F]) ready(ctx context.Context) error {
	if d.closed {
		return fmt.Errorf("%w: the device is closed", gpu.ErrLost)
	}
	return ctx.Err()
}

// check checks that the command's buffers are of this device and not released.
func (d *Device[F]) check(c gpu.Command) error {
	if c.Clear != nil {
		if _, err := d.own(c.Clear); err != nil {
			return err
		}
	}
	for _, b := range c.Arguments {
		if _, err := d.own(b); err != nil {
			return fmt.Errorf("%s: %w", c.Program.Name, err)
		}
	}
	return nil
}

// whole returns the allocated buffer behind a buffer or view of the device.
func whole[F gpu.Float](b gpu.Buffer) *buffer[F] {
	whole, _ := gpu.Whole(b)
	return whole.(*buffer[F])
}

// kept returns the kept data of a buffer or view.
func kept[F gpu.Float](b gpu.Buffer) *gpu.Kept {
	own := whole[F](b)
	if own.shared {
		return nil
	}
	_, first := gpu.Whole(b)
	if own.kept == nil {
		own.kept = map[int]*gpu.Kept{}
	}
	if own.kept[first] == nil {
		own.kept[first] = &gpu.Kept{}
	}
	return own.kept[first]
}

// array returns the memory of a buffer or view of the device.
func array[F gpu.Float](b gpu.Buffer) gpu.ArrayOf[F] {
	_, first := gpu.Whole(b)
	a, end := whole[F](b).array, first+b.Spec().Elements
	switch b.Spec().Type {
	case gpu.F32, gpu.F16:
		a.F = a.F[first:end:end]
	case gpu.I32:
		a.I = a.I[first:end:end]
	case gpu.U32:
		a.U = a.U[first:end:end]
	case gpu.I8:
		a.B = a.B[first:end:end]
	}
	return a
}

// own returns the device's buffer behind a buffer or view.
func (d *Device[F]) own(b gpu.Buffer) (*buffer[F], error) {
	own, _, err := gpu.Own(b, func(b *buffer[F]) (mine, released bool) { return b.device == d, !d.live[b] })
	return own, err
}
