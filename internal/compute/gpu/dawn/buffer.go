//go:build (linux || darwin) && (amd64 || arm64)

package dawn

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	"mrprism/internal/compute/gpu"
)

// buffer is memory on the device.
type buffer struct {
	d      *device
	spec   gpu.BufferSpec
	handle handle
}

// Spec describes the buffer.
func (b *buffer) Spec() gpu.BufferSpec { return b.spec }

// Release frees the memory.
func (b *buffer) Release() {
	if b.handle == 0 {
		return
	}
	b.d.l.BufferDestroy(b.handle)
	b.d.l.BufferRelease(b.handle)
	b.handle = 0
	delete(b.d.buffers, b)
}

func (d *device) own(b gpu.Buffer) (*buffer, int, error) {
	return gpu.Own(b, func(b *buffer) (mine, released bool) { return b.d == d, b.handle == 0 })
}

// createBuffer makes a buffer. size is a multiple of four.
func (d *device) createBuffer(label string, usage uint64, size uint64) (handle, error) {
	var h handle
	err := d.scoped(func() {
		h = d.l.DeviceCreateBuffer(d.handle, &bufferDescriptor{label: view(label), usage: usage, size: size})
	})
	if err == nil && h == 0 {
		err = gpu.ErrOutOfMemory
	}
	if err != nil {
		if h != 0 {
			d.l.BufferRelease(h)
		}
		return 0, fmt.Errorf("buffer %q of %d bytes: %w", label, size, err)
	}
	return h, nil
}

// Allocate creates zeroed buffers, all or none.
func (d *device) Allocate(ctx context.Context, specs []gpu.BufferSpec) (_ []gpu.Buffer, err error) {
	defer named("allocate", &err)
	if err := d.alive(); err != nil {
		return nil, err
	}
	buffers := make([]gpu.Buffer, 0, len(specs))
	for _, spec := range specs {
		b, err := d.allocate(ctx, spec)
		if err != nil {
			for _, done := range buffers {
				done.Release()
			}
			return nil, err
		}
		buffers = append(buffers, b)
	}
	return buffers, nil
}

func (d *device) allocate(ctx context.Context, spec gpu.BufferSpec) (*buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := spec.Validate(d.info.Limits); err != nil {
		return nil, err
	}
	h, err := d.createBuffer(spec.Label, usageStorage|usageCopySrc|usageCopyDst, uint64(spec.Bytes()))
	if err != nil {
		return nil, err
	}
	b := &buffer{d, spec, h}
	d.buffers[b] = struct{}{}
	return b, nil
}

// Write copies src into dst starting at element offset.
func (d *device) Write(dst gpu.Buffer, offset int, src []byte) (err error) {
	defer named("write", &err)
	if err := d.alive(); err != nil {
		return err
	}
	b, begin, err := d.own(dst)
	if err != nil {
		return err
	}
	if err := dst.Spec().ValidateWrite(offset, len(src)); err != nil || len(src) == 0 {
		return err
	}
	src = gpu.WholeWords(src)
	at := uint64(begin + offset*b.spec.Type.Size())
	d.l.QueueWriteBuffer(d.queue, b.handle, at, unsafe.Pointer(unsafe.SliceData(src)), uintptr(len(src)))
	return d.alive()
}

// stagingMost is the largest copy of a read, bytes.
const stagingMost = 32 << 20

// Read waits for all submitted work and fills the ranges.
func (d *device) Read(ctx context.Context, ranges ...gpu.Range) (err error) {
	defer named("read", &err)
	if err := d.alive(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	pieces, err := gpu.Pieces(ranges, stagingMost, d.own)
	if err != nil {
		return err
	}
	if err := d.drain(ctx, 0); err != nil {
		return err
	}
	for len(pieces) > 0 {
		n, total := gpu.Batch(pieces, stagingMost)
		if err := d.fetch(ctx, pieces[:n], uint64(total)); err != nil {
			return err
		}
		pieces = pieces[n:]
	}
	return d.alive()
}

// fetch copies pieces of total bytes through the staging buffer.
func (d *device) fetch(ctx context.Context, pieces []gpu.Piece[*buffer], total uint64) error {
	l := d.l
	if total > d.stagingLen {
		size := max(uint64(1)<<bits.Len64(total-1), 4096)
		h, err := d.createBuffer("staging", usageMapRead|usageCopyDst, size)
		if err != nil {
			return err
		}
		if d.staging != 0 {
			l.BufferDestroy(d.staging)
			l.BufferRelease(d.staging)
		}
		d.staging, d.stagingLen = h, size
	}
	err := d.scoped(func() {
		encoder := l.DeviceCreateCommandEncoder(d.handle, nil)
		at := 0
		for _, p := range pieces {
			l.CommandEncoderCopyBufferToBuffer.call(encoder, p.Buffer.handle, uintptr(p.From), d.staging, uintptr(at), uintptr(p.Size))
			at += p.Size
		}
		d.submit(encoder)
	})
	if err != nil {
		return err
	}
	mapping := l.begin(d.instance, callbacks().plain, func(info callbackInfo) uint64 {
		return l.BufferMapAsync(d.staging, mapRead, 0, uintptr(total), info)
	})
	got, err := mapping.wait(ctx)
	defer l.BufferUnmap(d.staging)
	if err != nil {
		l.BufferUnmap(d.staging) // cancels the mapping
		_, _ = mapping.wait(context.Background())
		return err
	}
	if got.status != statusSuccess {
		if err := d.alive(); err != nil {
			return err
		}
		return invalid("mapping: %s", got.message)
	}
	data := l.BufferGetConstMappedRange(d.staging, 0, uintptr(total))
	if data == nil {
		return fmt.Errorf("%w: the mapped memory is missing", gpu.ErrOutOfMemory)
	}
	gpu.Deliver(pieces, unsafe.Slice(data, total))
	return nil
}

// submit finishes an encoder and submits its commands.
func (d *device) submit(encoder handle) {
	commands := d.l.CommandEncoderFinish(encoder, nil)
	d.l.CommandEncoderRelease(encoder)
	d.l.QueueSubmit(d.queue, 1, &commands)
	d.l.CommandBufferRelease(commands)
}
