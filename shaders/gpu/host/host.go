// Package host has the common part of the two devices in Go, the reference and the processor:
// buffers in Go's memory and lists of commands. The devices differ in the type of their numbers and
// in how they run a program.
package host

import (
	"context"
	"fmt"
	"reflect"

	"mrprism/shaders/gpu"
)

// Device is a gpu.Device, and the gpu.Driver of its Frame. It cannot be lost.
type Device[F gpu.Float] struct {
	gpu.Frame[*buffer[F], []gpu.Step[*buffer[F]]]
	run      Run[F]
	prepared map[*gpu.Program]bool
	arrays   []gpu.ArrayOf[F] // arguments of the current dispatch
}

// Run computes one dispatch of a program.
type Run[F gpu.Float] func(ctx context.Context, p *gpu.Program, params any, arguments []gpu.ArrayOf[F]) error

// Open returns a device that runs programs with run. Its limits are WebGPU's defaults, and buffers
// of up to 1 GiB.
func Open[F gpu.Float](info gpu.Info, run Run[F]) *Device[F] {
	const most = 1 << 30
	info.Limits = gpu.DefaultLimits()
	info.Limits.StorageBinding, info.Limits.BufferSize = most, most
	d := &Device[F]{run: run, prepared: map[*gpu.Program]bool{}}
	d.Init(d, "", most)
	d.About = info
	return d
}

type buffer[F gpu.Float] struct {
	spec   gpu.BufferSpec
	array  gpu.ArrayOf[F]
	kept   map[int]*gpu.Kept // by the first byte of a view
	shared bool              // the memory may change without Upload, so nothing derived is kept
}

// expireKept makes the kept data of the buffer stale.
func (b *buffer[F]) expireKept() {
	for _, k := range b.kept {
		k.Expire()
	}
}

// keep returns the kept data of the view that begins at a byte.
func (b *buffer[F]) keep(from int) *gpu.Kept {
	if b.shared {
		return nil
	}
	if b.kept == nil {
		b.kept = map[int]*gpu.Kept{}
	}
	if b.kept[from] == nil {
		b.kept[from] = &gpu.Kept{}
	}
	return b.kept[from]
}

// raw is the memory as bytes, or nil if other devices keep the elements in another type.
func (b *buffer[F]) raw() []byte {
	switch b.spec.Type {
	case gpu.I32:
		return gpu.InMemory(b.array.I)
	case gpu.U32:
		return gpu.InMemory(b.array.U)
	case gpu.I8:
		return gpu.InMemory(b.array.B)
	case gpu.F32:
		singles, _ := any(b.array.F).([]float32)
		return gpu.InMemory(singles)
	}
	return nil
}

// array is the memory of a buffer or view.
func array[F gpu.Float](bound gpu.Bound[*buffer[F]]) gpu.ArrayOf[F] {
	b := bound.Buffer
	a, size := b.array, b.spec.Type.Size()
	first, end := bound.From/size, (bound.From+bound.Size)/size
	switch b.spec.Type {
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

// Values returns the memory of an F32 or F16 buffer: changing the slice changes the buffer.
func (d *Device[F]) Values(b gpu.Buffer) []F {
	bound, err := d.Bind(b)
	if err != nil {
		panic(err)
	}
	bound.Buffer.expireKept()
	bound.Buffer.shared = true
	return array(bound).F
}

// Failure returns nil: each call returns its own errors.
func (d *Device[F]) Failure() error { return nil }

// Create makes zeroed buffers.
func (d *Device[F]) Create(_ context.Context, specs []gpu.BufferSpec) ([]*buffer[F], error) {
	buffers := make([]*buffer[F], len(specs))
	for i, s := range specs {
		b := &buffer[F]{spec: s}
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
		buffers[i] = b
	}
	return buffers, nil
}

// Free frees the memory.
func (d *Device[F]) Free(b *buffer[F]) { b.array, b.kept = gpu.ArrayOf[F]{}, nil }

// Upload copies src into a buffer from byte at on.
func (d *Device[F]) Upload(to *buffer[F], at int, src []byte) error {
	to.expireKept()
	if memory := to.raw(); memory != nil {
		copy(memory[at:], src)
		return nil
	}
	values := to.array.F[at/to.spec.Type.Size():]
	for i, v := range to.spec.Type.Decode(src)[:min(len(src)/to.spec.Type.Size(), len(values))] {
		values[i] = F(v)
	}
	return nil
}

// Download fills the pieces. It rounds F32 to float32 and F16 to half.
func (d *Device[F]) Download(_ context.Context, pieces []gpu.Piece[*buffer[F]], _ int) error {
	for _, p := range pieces {
		from, at := p.Buffer, p.From+p.Skip
		if memory := from.raw(); memory != nil {
			copy(p.Dst, memory[at:])
			continue
		}
		size := from.spec.Type.Size()
		values := make([]float32, len(p.Dst)/size)
		for i, v := range from.array.F[at/size:][:len(values)] {
			values[i] = float32(v)
		}
		copy(p.Dst, from.spec.Type.Encode(values))
	}
	return nil
}

// Compiled says whether the program was given to Compile. There is nothing to compile.
func (d *Device[F]) Compiled(p *gpu.Program) bool { return d.prepared[p] }

// Compile notes the programs.
func (d *Device[F]) Compile(_ context.Context, programs []*gpu.Program) error {
	for _, p := range programs {
		d.prepared[p] = true
	}
	return nil
}

// Build copies the steps' parameters: later changes have no effect.
func (d *Device[F]) Build(steps []gpu.Step[*buffer[F]], _ []byte) ([]gpu.Step[*buffer[F]], error) {
	for i, s := range steps {
		if v := reflect.ValueOf(s.Params); v.Kind() == reflect.Pointer {
			params := reflect.New(v.Type().Elem())
			params.Elem().Set(v.Elem())
			steps[i].Params = params.Interface()
		}
	}
	return steps, nil
}

// Drop leaves the steps to the garbage collector.
func (d *Device[F]) Drop([]gpu.Step[*buffer[F]]) {}

// Submit computes every step before it returns. It checks the context between steps.
func (d *Device[F]) Submit(ctx context.Context, recordings [][]gpu.Step[*buffer[F]]) error {
	for _, steps := range recordings {
		for i := range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := d.step(ctx, &steps[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Device[F]) step(ctx context.Context, s *gpu.Step[*buffer[F]]) error {
	if s.Program == nil {
		zero(s.Bound[0])
		return nil
	}
	if s.Fresh {
		zero(s.Bound[len(s.Bound)-1])
	}
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("%s: %s: %v", d.About.Backend, s.Name, r))
		}
	}()
	d.arrays = d.arrays[:0]
	for i, b := range s.Bound {
		a := array(b)
		if s.Program.Arguments[i] == gpu.ReadWrite {
			b.Buffer.expireKept()
		} else {
			a.Kept = b.Buffer.keep(b.From)
		}
		d.arrays = append(d.arrays, a)
	}
	return d.run(ctx, s.Program, s.Params, d.arrays)
}

func zero[F gpu.Float](bound gpu.Bound[*buffer[F]]) {
	a := array(bound)
	bound.Buffer.expireKept()
	clear(a.F)
	clear(a.I)
	clear(a.U)
	clear(a.B)
}

// Shut forgets every buffer.
func (d *Device[F]) Shut(release func()) error {
	release()
	return nil
}
