//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"time"
	"unsafe"

	"mrprism/shaders/gpu"
)

// recording is a list of commands with their bind groups. One buffer has the uniform parameters of
// all commands.
type recording struct {
	steps  []*step
	params handle
}

// step is one command, ready to encode.
type step struct {
	pipeline, group handle     // a dispatch
	groups          [3]uintptr // workgroups in x, y, z
	clear           handle     // or a buffer to clear
	from, size      uintptr    // bytes to clear

	cost time.Duration // measured time; 0: not known
}

// Drop frees the bind groups and the parameters.
func (d *device) Drop(r *recording) {
	for _, s := range r.steps {
		release(d.l.BindGroupRelease, s.group)
	}
	d.Free(r.params)
}

// Build makes the bind groups of steps.
func (d *device) Build(steps []gpu.Step[handle], params []byte) (_ *recording, err error) {
	r := &recording{steps: make([]*step, len(steps))}
	for i := range steps {
		r.steps[i] = &step{}
	}
	if len(params) > 0 {
		if r.params, err = d.createBuffer("parameters", usageUniform|usageCopyDst, uint64(len(params))); err != nil {
			return nil, err
		}
	}
	err = d.scoped(func() {
		if len(params) > 0 {
			d.write(r.params, 0, params)
		}
		offset := uint64(0)
		for i, from := range steps {
			s := r.steps[i]
			if from.Program == nil {
				b := from.Bound[0]
				s.clear, s.from, s.size = b.Buffer, uintptr(b.From), uintptr(b.Padded)
				continue
			}
			s.pipeline = d.pipelines[from.Program]
			s.groups = [3]uintptr{uintptr(from.Groups[0]), uintptr(from.Groups[1]), uintptr(from.Groups[2])}
			s.group = d.bindGroup(from, bindGroupEntry{buffer: r.params, offset: offset, size: uint64(from.ParamsSize)})
			offset += gpu.ParamsStride
		}
	})
	if err != nil {
		d.Drop(r)
		return nil, err
	}
	return r, nil
}

// bindGroup binds the parameters and arguments of a step. The parameters have their exact size:
// Dawn refuses parameters that are too short for the WGSL.
func (d *device) bindGroup(s gpu.Step[handle], params bindGroupEntry) handle {
	entries := []bindGroupEntry{params}
	for i, b := range s.Bound {
		entries = append(entries, bindGroupEntry{binding: uint32(i + 1), buffer: b.Buffer, offset: uint64(b.From), size: uint64(b.Padded)})
	}
	a, err := d.layout(s.Program.Arguments)
	if err != nil {
		return 0
	}
	return d.l.DeviceCreateBindGroup(d.handle, &bindGroupDescriptor{
		label: view(s.Name), layout: a.group, count: uintptr(len(entries)), entries: unsafe.SliceData(entries),
	})
}

// Submit submits the recordings in order. It waits if more than mostInFlight submissions are
// unfinished.
func (d *device) Submit(ctx context.Context, recordings []*recording) error {
	var all []*step
	for _, r := range recordings {
		if len(recordings) == 1 {
			all = r.steps
		} else {
			all = append(all, r.steps...)
		}
	}
	for steps, most := all, mostSteps(d.About.Kind); len(steps) > 0; most *= 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := d.portion(steps, most)
		if err := d.scoped(func() { d.encode(steps[:n]) }); err != nil {
			return err
		}
		d.flight = append(d.flight, d.follow(steps[:n]))
		steps = steps[n:]
		if err := d.drain(ctx, mostInFlight); err != nil {
			return err
		}
	}
	return nil
}

// encode submits steps: dispatches in compute passes, clears between passes.
func (d *device) encode(steps []*step) {
	l := d.l
	encoder := l.DeviceCreateCommandEncoder(d.handle, nil)
	var pass, pipeline handle
	end := func() {
		if pass != 0 {
			l.ComputePassEncoderEnd.call(pass)
			l.ComputePassEncoderRelease.call(pass)
			pass, pipeline = 0, 0
		}
	}
	for _, s := range steps {
		if s.clear != 0 {
			end()
			l.CommandEncoderClearBuffer.call(encoder, s.clear, s.from, s.size)
			continue
		}
		if pass == 0 {
			pass = l.CommandEncoderBeginComputePass(encoder, nil)
		}
		if s.pipeline != pipeline {
			pipeline = s.pipeline
			l.ComputePassEncoderSetPipeline.call(pass, pipeline)
		}
		l.ComputePassEncoderSetBindGroup.call(pass, 0, s.group, 0, 0)
		l.ComputePassEncoderDispatchWorkgroups.call(pass, s.groups[0], s.groups[1], s.groups[2])
	}
	end()
	d.submit(encoder)
}
