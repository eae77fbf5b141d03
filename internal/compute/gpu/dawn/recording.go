//go:build (linux || darwin) && (amd64 || arm64)

package dawn

import (
	"context"
	"time"
	"unsafe"

	"mrprism/internal/compute/gpu"
)

// recording is a list of commands with their bind groups. One buffer has the uniform parameters of
// all commands.
type recording struct {
	d      *device
	steps  []*step
	params handle
}

// step is one command, ready to encode.
type step struct {
	pipeline, group handle     // a dispatch
	groups          [3]uintptr // workgroups in x, y, z
	clear           *buffer    // or a buffer to clear, which no bind group keeps alive
	from, size      uintptr    // bytes to clear

	cost time.Duration // measured time; 0: not known
}

// Release frees the bind groups and the parameters.
func (r *recording) Release() {
	if r.steps == nil {
		return
	}
	for _, s := range r.steps {
		if s.group != 0 {
			r.d.l.BindGroupRelease(s.group)
		}
	}
	if r.params != 0 {
		r.d.l.BufferDestroy(r.params)
		r.d.l.BufferRelease(r.params)
	}
	r.steps = nil
	delete(r.d.recordings, r)
}

// Record checks the commands and builds their bind groups.
func (d *device) Record(commands []gpu.Command) (_ gpu.Recording, err error) {
	defer named("record", &err)
	if err := d.alive(); err != nil {
		return nil, err
	}
	params, sizes, err := gpu.CheckCommands(commands, d.info.Limits, func(p *gpu.Program) bool { return d.pipelines[p] != 0 }, d.own)
	if err != nil {
		return nil, err
	}
	r := &recording{d: d, steps: make([]*step, 0, len(commands))}
	if len(params) > 0 {
		if r.params, err = d.createBuffer("parameters", usageUniform|usageCopyDst, uint64(len(params))); err != nil {
			return nil, err
		}
	}
	d.recordings[r] = struct{}{}
	err = d.scoped(func() {
		if len(params) > 0 {
			d.l.QueueWriteBuffer(d.queue, r.params, 0, unsafe.Pointer(unsafe.SliceData(params)), uintptr(len(params)))
		}
		dispatch := 0
		for _, c := range commands {
			s := &step{}
			r.steps = append(r.steps, s)
			if c.Program == nil {
				b, from, _ := d.own(c.Clear) // as checked
				s.clear, s.from, s.size = b, uintptr(from), uintptr(c.Clear.Spec().Bytes())
				continue
			}
			s.pipeline = d.pipelines[c.Program]
			s.groups = [3]uintptr{uintptr(c.Groups[0]), uintptr(c.Groups[1]), uintptr(c.Groups[2])}
			s.group = d.bindGroup(c, r.params, dispatch*gpu.ParamsStride, sizes[dispatch])
			dispatch++
		}
	})
	if err != nil {
		r.Release()
		return nil, err
	}
	return r, nil
}

// bindGroup binds a command's parameters, size bytes at offset of params, and its arguments. With
// the exact size Dawn refuses parameters that are too short for the WGSL.
func (d *device) bindGroup(c gpu.Command, params handle, offset, size int) handle {
	entries := make([]bindGroupEntry, 1, 1+len(c.Arguments))
	entries[0] = bindGroupEntry{buffer: params, offset: uint64(offset), size: uint64(size)}
	for i, argument := range c.Arguments {
		b, from, _ := d.own(argument) // as checked
		entries = append(entries, bindGroupEntry{
			binding: uint32(i + 1), buffer: b.handle, offset: uint64(from), size: uint64(argument.Spec().Bytes()),
		})
	}
	a, err := d.layout(c.Program.Arguments)
	if err != nil {
		return 0
	}
	return d.l.DeviceCreateBindGroup(d.handle, &bindGroupDescriptor{
		label: view(c.Program.Name), layout: a.group, count: uintptr(len(entries)), entries: unsafe.SliceData(entries),
	})
}

// Run submits the recordings in order. It waits if more than mostInFlight submissions are
// unfinished.
func (d *device) Run(ctx context.Context, recordings ...gpu.Recording) (err error) {
	defer named("run", &err)
	if err := d.alive(); err != nil {
		return err
	}
	var all []*step
	for i, given := range recordings {
		r, ok := given.(*recording)
		if !ok || r.d != d || r.steps == nil {
			return invalid("recording %d is of another device, or was released", i)
		}
		if len(recordings) == 1 {
			all = r.steps
		} else {
			all = append(all, r.steps...)
		}
	}
	for steps := all; len(steps) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := d.portion(steps)
		for _, s := range steps[:n] {
			if s.clear != nil && s.clear.handle == 0 {
				return invalid("a recording clears buffer %q, which was released", s.clear.spec.Label)
			}
		}
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
		if s.clear != nil {
			end()
			l.CommandEncoderClearBuffer.call(encoder, s.clear.handle, s.from, s.size)
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
