//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	"mrprism/shaders/gpu"
)

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

// Create creates zeroed buffers, all or none.
func (d *device) Create(ctx context.Context, specs []gpu.BufferSpec) ([]handle, error) {
	buffers := make([]handle, 0, len(specs))
	for _, spec := range specs {
		err := ctx.Err()
		if err == nil {
			var h handle
			h, err = d.createBuffer(spec.Label, usageStorage|usageCopySrc|usageCopyDst, uint64(spec.Bytes()))
			buffers = append(buffers, h)
		}
		if err != nil {
			for _, h := range buffers {
				d.Free(h)
			}
			return nil, err
		}
	}
	return buffers, nil
}

// Free frees the memory of a buffer, if there is one.
func (d *device) Free(b handle) {
	if b != 0 {
		d.l.BufferDestroy(b)
		d.l.BufferRelease(b)
	}
}

// Upload writes src to a buffer.
func (d *device) Upload(to handle, at int, src []byte) error {
	d.write(to, at, src)
	return d.Alive()
}

func (d *device) write(to handle, at int, src []byte) {
	d.l.QueueWriteBuffer(d.queue, to, uint64(at), unsafe.Pointer(unsafe.SliceData(src)), uintptr(len(src)))
}

// stagingMost is the largest copy of a read, bytes.
const stagingMost = 32 << 20

// Download waits for all submitted work and copies pieces through the staging buffer. The device
// gets the copy before the wait: it copies as soon as it has computed.
func (d *device) Download(ctx context.Context, pieces []gpu.Piece[handle], total int) error {
	if total == 0 {
		if err := d.drain(ctx, 0); err != nil {
			return err
		}
		return d.Alive()
	}
	l, size := d.l, uint64(total)
	if size > d.stagingLen {
		size = max(uint64(1)<<bits.Len64(size-1), 4096)
		h, err := d.createBuffer("staging", usageMapRead|usageCopyDst, size)
		if err != nil {
			return err
		}
		d.Free(d.staging)
		d.staging, d.stagingLen = h, size
	}
	err := d.scoped(func() {
		encoder := l.DeviceCreateCommandEncoder(d.handle, nil)
		at := 0
		for _, p := range pieces {
			l.CommandEncoderCopyBufferToBuffer.call(encoder, p.Buffer, uintptr(p.From), d.staging, uintptr(at), uintptr(p.Size))
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
	defer l.BufferUnmap(d.staging)
	var got outcome
	if err = d.drain(ctx, 0); err == nil {
		got, err = mapping.wait(ctx)
	}
	if err != nil {
		l.BufferUnmap(d.staging) // cancels the mapping
		_, _ = mapping.wait(context.Background())
		return err
	}
	if got.status != statusSuccess {
		if err := d.Alive(); err != nil {
			return err
		}
		return fmt.Errorf("%w: mapping: %s", gpu.ErrValidation, got.message)
	}
	data := l.BufferGetConstMappedRange(d.staging, 0, uintptr(total))
	if data == nil {
		return fmt.Errorf("%w: the mapped memory is missing", gpu.ErrOutOfMemory)
	}
	gpu.Deliver(pieces, unsafe.Slice(data, total))
	return d.Alive()
}

// submit finishes an encoder and submits its commands.
func (d *device) submit(encoder handle) {
	commands := d.l.CommandEncoderFinish(encoder, nil)
	d.l.CommandEncoderRelease(encoder)
	d.l.QueueSubmit(d.queue, 1, &commands)
	d.l.CommandBufferRelease(commands)
}
