// Package reference is the gpu.Device computed in Go and float64: the oracle of every test, and the fallback where there is no
// GPU. It runs each program's Body and never its WGSL, and is never optimised.
package reference

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"

	"mrprism/internal/gpu"
)

// Device keeps F32 buffers as float64, so that finite differences stay exact; other types as themselves.
type Device struct {
	prepared map[*gpu.Program]bool
	live     map[*buffer]bool
	lost     chan error
	closed   bool
}

var _ gpu.Device = (*Device)(nil)

// Open gives a device; it needs no hardware and cannot fail.
func Open() *Device {
	return &Device{prepared: map[*gpu.Program]bool{}, live: map[*buffer]bool{}, lost: make(chan error, 1)}
}

// Info describes the device. Its limits are WebGPU's defaults, except that buffers may reach 1 GiB.
func (d *Device) Info() gpu.Info {
	limits := gpu.DefaultLimits()
	limits.StorageBinding, limits.BufferSize = 1<<30, 1<<30
	return gpu.Info{
		Backend: "reference", Adapter: "Go float64", Driver: runtime.Version(), Kind: gpu.KindReference, Limits: limits,
	}
}

type buffer struct {
	device *Device
	spec   gpu.BufferSpec
	array  gpu.Array
}

func (b *buffer) Spec() gpu.BufferSpec { return b.spec }

func (b *buffer) Release() {
	delete(b.device.live, b)
	b.array = gpu.Array{}
}

// Allocate creates zeroed buffers.
func (d *Device) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := s.Validate(d.Info().Limits); err != nil {
			return nil, err
		}
	}
	buffers := make([]gpu.Buffer, len(specs))
	for i, s := range specs {
		b := &buffer{device: d, spec: s}
		switch s.Type {
		case gpu.F32:
			b.array.F = make([]float64, s.Elements)
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

// Float64 gives the exact values of an F32 buffer, shared with the device: changing the slice changes the buffer.
func (d *Device) Float64(b gpu.Buffer) []float64 {
	own, err := d.own(b)
	if err != nil {
		panic(err)
	}
	return own.array.F
}

// Write copies src into dst from element offset on.
func (d *Device) Write(dst gpu.Buffer, offset int, src []byte) error {
	if err := d.ready(context.Background()); err != nil {
		return err
	}
	b, err := d.own(dst)
	if err != nil {
		return err
	}
	if err := b.spec.ValidateWrite(offset, len(src)); err != nil {
		return err
	}
	for i := range len(src) / b.spec.Type.Size() {
		switch b.spec.Type {
		case gpu.F32:
			b.array.F[offset+i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
		case gpu.I32:
			b.array.I[offset+i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
		case gpu.U32:
			b.array.U[offset+i] = binary.LittleEndian.Uint32(src[4*i:])
		case gpu.I8:
			b.array.B[offset+i] = int8(src[i])
		}
	}
	return nil
}

// Read fills the ranges; F32 values are rounded to float32.
func (d *Device) Read(ctx context.Context, ranges ...gpu.Range) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, r := range ranges {
		b, err := d.own(r.Buffer)
		if err != nil {
			return err
		}
		if err := b.spec.ValidateRead(r.Offset, len(r.Dst)); err != nil {
			return err
		}
	}
	for _, r := range ranges {
		b := r.Buffer.(*buffer)
		for i := range len(r.Dst) / b.spec.Type.Size() {
			switch b.spec.Type {
			case gpu.F32:
				binary.LittleEndian.PutUint32(r.Dst[4*i:], math.Float32bits(float32(b.array.F[r.Offset+i])))
			case gpu.I32:
				binary.LittleEndian.PutUint32(r.Dst[4*i:], uint32(b.array.I[r.Offset+i]))
			case gpu.U32:
				binary.LittleEndian.PutUint32(r.Dst[4*i:], b.array.U[r.Offset+i])
			case gpu.I8:
				r.Dst[i] = byte(b.array.B[r.Offset+i])
			}
		}
	}
	return nil
}

// Prepare checks the programs; there is nothing to compile.
func (d *Device) Prepare(ctx context.Context, programs []*gpu.Program) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, p := range programs {
		if err := p.Validate(d.Info().Limits); err != nil {
			return err
		}
		d.prepared[p] = true
	}
	return nil
}

type recording struct {
	device   *Device
	commands []gpu.Command
	released bool
}

func (r *recording) Release() { r.commands, r.released = nil, true }

// Record checks the commands as a GPU would and copies their parameters, so that later changes have no effect.
func (d *Device) Record(commands []gpu.Command) (gpu.Recording, error) {
	if err := d.ready(context.Background()); err != nil {
		return nil, err
	}
	r := &recording{device: d, commands: make([]gpu.Command, len(commands))}
	for i, c := range commands {
		if err := c.Validate(d.Info().Limits); err != nil {
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
		c.Arguments = append([]gpu.Buffer(nil), c.Arguments...)
		r.commands[i] = c
	}
	return r, nil
}

// Run computes every command before it returns; the context is asked between commands.
func (d *Device) Run(ctx context.Context, recordings ...gpu.Recording) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, recorded := range recordings {
		r, ok := recorded.(*recording)
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
			run(c)
		}
	}
	return nil
}

func run(c gpu.Command) {
	if c.Program == nil {
		a := c.Clear.(*buffer).array
		clear(a.F)
		clear(a.I)
		clear(a.U)
		clear(a.B)
		return
	}
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("reference: %s: %v", c.Program.Name, r))
		}
	}()
	arrays := make([]gpu.Array, len(c.Arguments))
	for i, b := range c.Arguments {
		arrays[i] = b.(*buffer).array
	}
	c.Program.Body(c.Params, arrays)
}

// Lost never receives: Go is not lost.
func (d *Device) Lost() <-chan error { return d.lost }

// Close forgets every buffer; the device is not used afterwards.
func (d *Device) Close() error {
	for b := range d.live {
		b.Release()
	}
	d.closed = true
	return nil
}

func (d *Device) ready(ctx context.Context) error {
	if d.closed {
		return fmt.Errorf("%w: the reference device is closed", gpu.ErrLost)
	}
	return ctx.Err()
}

// check makes sure that the command's buffers are this device's and not released.
func (d *Device) check(c gpu.Command) error {
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

func (d *Device) own(b gpu.Buffer) (*buffer, error) {
	own, ok := b.(*buffer)
	if !ok || own.device != d {
		return nil, fmt.Errorf("%w: a buffer of another device", gpu.ErrValidation)
	}
	if !d.live[own] {
		return nil, fmt.Errorf("%w: buffer %q was released", gpu.ErrValidation, own.spec.Label)
	}
	return own, nil
}
