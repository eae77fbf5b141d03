//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"mrprism/shaders/gpu"
)

var _ gpu.Timed = (*device)(nil)

// mostTimed is the number of commands in a submission of Spans. A query set has at most 4,096
// timestamps.
const mostTimed = 512

// querySet makes a set of timestamps. Without the feature timestamp-query that is a validation
// error.
func (d *device) querySet(count int) (set handle, err error) {
	err = d.scoped(func() {
		set = d.l.DeviceCreateQuerySet(d.handle, &querySetDescriptor{kind: queryTimestamp, count: uint32(count)})
	})
	if err != nil {
		release(d.l.QuerySetRelease, set)
		return 0, err
	}
	return set, nil
}

// Spans runs prepared commands, each in a pass of its own, which writes a timestamp where it begins
// and where it ends.
func (d *device) Spans(ctx context.Context, commands []gpu.Command) ([]gpu.Span, error) {
	recorded, err := d.Record(commands)
	if err != nil {
		return nil, err
	}
	defer recorded.Release()
	own, err := d.Own(recorded)
	if err != nil {
		return nil, err
	}
	set, err := d.querySet(2 * mostTimed)
	if err != nil {
		return nil, fmt.Errorf("dawn: %s has no timestamps: %w", d.About.Adapter, err)
	}
	defer d.l.QuerySetRelease(set)
	resolved, err := d.createBuffer("timestamps", usageQueryResolve|usageCopySrc, 16*mostTimed)
	if err != nil {
		return nil, err
	}
	defer d.Free(resolved)
	spans := make([]gpu.Span, 0, len(commands))
	for steps := own.steps; len(steps) > 0; {
		part := steps[:min(mostTimed, len(steps))]
		if err := d.scoped(func() { d.encodeTimed(part, set, resolved) }); err != nil {
			return nil, err
		}
		stamps := make([]byte, 16*len(part))
		if err := d.Download(ctx, []gpu.Piece[handle]{{Buffer: resolved, Size: len(stamps), Dst: stamps}}, len(stamps)); err != nil {
			return nil, err
		}
		at := func(i int) time.Duration { return time.Duration(binary.LittleEndian.Uint64(stamps[8*i:])) }
		for i, s := range part {
			if s.clear != 0 {
				spans = append(spans, gpu.Span{})
			} else {
				spans = append(spans, gpu.Span{Begin: at(2 * i), End: at(2*i + 1)})
			}
		}
		steps = steps[len(part):]
	}
	return spans, d.Alive()
}

// encodeTimed submits steps with timestamps, which it copies to a buffer.
func (d *device) encodeTimed(steps []*step, set, resolved handle) {
	l := d.l
	encoder := l.DeviceCreateCommandEncoder(d.handle, nil)
	for i, s := range steps {
		if s.clear != 0 {
			l.CommandEncoderClearBuffer.call(encoder, s.clear, s.from, s.size)
			continue
		}
		descriptor := &computePassDescriptor{timestamps: &passTimestamps{set: set, begin: uint32(2 * i), end: uint32(2*i + 1)}}
		pass := l.CommandEncoderBeginComputePass(encoder, unsafe.Pointer(descriptor))
		l.ComputePassEncoderSetPipeline.call(pass, s.pipeline)
		l.ComputePassEncoderSetBindGroup.call(pass, 0, s.group, 0, 0)
		l.ComputePassEncoderDispatchWorkgroups.call(pass, s.groups[0], s.groups[1], s.groups[2])
		l.ComputePassEncoderEnd.call(pass)
		l.ComputePassEncoderRelease.call(pass)
	}
	l.CommandEncoderResolveQuerySet(encoder, set, 0, uint32(2*len(steps)), resolved, 0)
	d.submit(encoder)
}
