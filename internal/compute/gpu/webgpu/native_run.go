//go:build !js && cgo

package webgpu

// #include "native.h"
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"

	"mrprism/internal/compute/gpu"
)

func (d *device) Prepare(ctx context.Context, programs []*gpu.Program) error {
	for _, p := range programs {
		if err := d.ready(ctx); err != nil {
			return err
		}
		if d.pipelines[p] != nil {
			continue
		}
		if err := p.Validate(d.info.Limits); err != nil {
			return err
		}
		if err := d.compile(p); err != nil {
			return err
		}
	}
	return d.ready(ctx)
}

func (d *device) compile(p *gpu.Program) error {
	module := d.modules[p.Source]
	if module == nil {
		var err error
		module, err = d.device.CreateShaderModule(&wgpu.ShaderModuleDescriptor{
			Label: p.Name, WGSLDescriptor: &wgpu.ShaderModuleWGSLDescriptor{Code: p.Source},
		})
		if err := d.check(err, p.Name); err != nil {
			return err
		}
		d.modules[p.Source] = module
	}
	l, err := d.layout(p)
	if err != nil {
		return err
	}
	compiled, err := d.device.CreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label: p.Name, Layout: l.pipeline,
		Compute: wgpu.ProgrammableStageDescriptor{Module: module, EntryPoint: p.Entry},
	})
	if err := d.check(err, p.Name); err != nil {
		return err
	}
	d.pipelines[p] = &pipeline{pipeline: compiled, layout: l}
	return nil
}

// layout returns the layouts of the program's arguments. Binding 0 has the uniform parameters, and
// the storage buffers follow.
func (d *device) layout(p *gpu.Program) (layout, error) {
	key := fmt.Sprint(p.Arguments)
	if l, ok := d.layouts[key]; ok {
		return l, nil
	}
	entries := []wgpu.BindGroupLayoutEntry{{
		Binding: 0, Visibility: wgpu.ShaderStageCompute, Buffer: wgpu.BufferBindingLayout{Type: wgpu.BufferBindingTypeUniform},
	}}
	for i, access := range p.Arguments {
		t := wgpu.BufferBindingTypeReadOnlyStorage
		if access == gpu.ReadWrite {
			t = wgpu.BufferBindingTypeStorage
		}
		entries = append(entries, wgpu.BindGroupLayoutEntry{
			Binding: uint32(i + 1), Visibility: wgpu.ShaderStageCompute, Buffer: wgpu.BufferBindingLayout{Type: t},
		})
	}
	var l layout
	var err error
	l.bindings, err = d.device.CreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Label: p.Name, Entries: entries})
	if err := d.check(err, p.Name); err != nil {
		return l, err
	}
	l.pipeline, err = d.device.CreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{
		Label: p.Name, BindGroupLayouts: []*wgpu.BindGroupLayout{l.bindings},
	})
	if err := d.check(err, p.Name); err != nil {
		l.bindings.Release()
		return l, err
	}
	d.layouts[key] = l
	return l, nil
}

// recorded is one command, ready to encode: a dispatch, or with pipeline nil a clear.
type recorded struct {
	name     string
	pipeline *wgpu.ComputePipeline
	group    *wgpu.BindGroup
	groups   [3]uint32
	clear    *buffer
	from, n  uint64 // bytes to clear
}

type recording struct {
	device   *device
	commands []recorded
	buffers  map[*buffer]bool // of all commands
	params   *wgpu.Buffer     // gpu.ParamsStride bytes for each dispatch
	pace     pace
	released bool
}

func (r *recording) Release() {
	if r.released {
		return
	}
	r.released = true
	delete(r.device.recordings, r)
	for _, c := range r.commands {
		if c.group != nil {
			c.group.Release()
		}
	}
	if r.params != nil {
		r.params.Destroy()
		r.params.Release()
	}
}

func (d *device) Record(commands []gpu.Command) (gpu.Recording, error) {
	if err := d.ready(context.Background()); err != nil {
		return nil, err
	}
	params, _, err := gpu.CheckCommands(commands, d.info.Limits, func(p *gpu.Program) bool { return d.pipelines[p] != nil }, d.own)
	if err != nil {
		return nil, err
	}
	r := &recording{device: d, buffers: map[*buffer]bool{}, pace: newPace(d.info.Kind)}
	d.recordings[r] = true
	if err := d.fill(r, commands, params); err != nil {
		r.Release()
		return nil, err
	}
	return r, nil
}

// fill makes the recording's parameters and bind groups.
func (d *device) fill(r *recording, commands []gpu.Command, params []byte) (err error) {
	if len(params) > 0 {
		r.params, err = d.device.CreateBuffer(&wgpu.BufferDescriptor{
			Label: "params", Size: uint64(len(params)), Usage: wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst,
		})
		if err := d.check(err, "parameters"); err != nil {
			return err
		}
		if err := d.check(d.queue.WriteBuffer(r.params, 0, params), "parameters"); err != nil {
			return err
		}
	}
	offset := uint64(0)
	for _, c := range commands {
		if c.Program == nil {
			b, from, _ := d.own(c.Clear) // as checked
			spec := c.Clear.Spec()
			r.buffers[b] = true
			r.commands = append(r.commands, recorded{name: "clear " + spec.Label, clear: b, from: uint64(from), n: uint64(spec.Bytes())})
			continue
		}
		entries := []wgpu.BindGroupEntry{{Binding: 0, Buffer: r.params, Offset: offset, Size: gpu.ParamsStride}}
		offset += gpu.ParamsStride
		for i, argument := range c.Arguments {
			b, from, _ := d.own(argument) // as checked
			r.buffers[b] = true
			entries = append(entries, wgpu.BindGroupEntry{Binding: uint32(i + 1), Buffer: b.buffer, Offset: uint64(from), Size: bound(argument.Spec())})
		}
		p := d.pipelines[c.Program]
		group, err := d.device.CreateBindGroup(&wgpu.BindGroupDescriptor{
			Label: c.Program.Name, Layout: p.layout.bindings, Entries: entries,
		})
		if err := d.check(err, c.Program.Name); err != nil {
			return err
		}
		r.commands = append(r.commands, recorded{
			name: c.Program.Name, pipeline: p.pipeline, group: group,
			groups: [3]uint32{uint32(c.Groups[0]), uint32(c.Groups[1]), uint32(c.Groups[2])},
		})
	}
	return nil
}

func (d *device) Run(ctx context.Context, recordings ...gpu.Recording) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, given := range recordings {
		r, ok := given.(*recording)
		if !ok || r.device != d || r.released {
			return fmt.Errorf("%w: a recording of another device, or a released one", gpu.ErrValidation)
		}
		for b := range r.buffers { // submitting a destroyed buffer would abort the process
			if b.released {
				return fmt.Errorf("%w: a recording uses buffer %q, which was released", gpu.ErrValidation, b.spec.Label)
			}
		}
	}
	for _, given := range recordings {
		r := given.(*recording)
		for rest := r.commands; len(rest) > 0; {
			n := min(r.pace.step, len(rest))
			if err := d.submit(ctx, r, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// submit encodes commands of a recording as one submission. It first waits until the device is not
// too far behind.
func (d *device) submit(ctx context.Context, r *recording, commands []recorded) error {
	if err := d.wait(ctx, inFlight(d.info.Kind)-1); err != nil {
		return err
	}
	doing := fmt.Sprintf("%s … %s", commands[0].name, commands[len(commands)-1].name)
	return d.encode(doing, flight{recording: r, commands: len(commands)}, func(encoder *wgpu.CommandEncoder) error {
		for len(commands) > 0 {
			if c := commands[0]; c.clear != nil {
				if err := encoder.ClearBuffer(c.clear.buffer, c.from, c.n); err != nil {
					return err
				}
				commands = commands[1:]
				continue
			}
			pass := encoder.BeginComputePass(nil)
			var bound *wgpu.ComputePipeline
			for len(commands) > 0 && commands[0].clear == nil {
				c := commands[0]
				if c.pipeline != bound {
					pass.SetPipeline(c.pipeline)
					bound = c.pipeline
				}
				pass.SetBindGroup(0, c.group, nil)
				pass.DispatchWorkgroups(c.groups[0], c.groups[1], c.groups[2])
				commands = commands[1:]
			}
			err := pass.End()
			pass.Release()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// encode submits the commands of record as flight f. It submits nothing invalid. doing names the
// work in errors.
func (d *device) encode(doing string, f flight, record func(*wgpu.CommandEncoder) error) error {
	encoder, err := d.device.CreateCommandEncoder(nil)
	if err := d.check(err, doing); err != nil {
		return err
	}
	defer encoder.Release()
	if err := d.check(record(encoder), doing); err != nil {
		return err
	}
	commands, err := encoder.Finish(nil)
	if err := d.check(err, doing); err != nil {
		return err
	}
	defer commands.Release()
	f.since = time.Now()
	f.index = d.queue.Submit(commands)
	d.flights = append(d.flights, f)
	return d.failed(doing)
}

// wait blocks until at most keep submissions are unfinished. It checks the context between
// submissions, which Run keeps short.
func (d *device) wait(ctx context.Context, keep int) error {
	for len(d.flights) > keep {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := d.flights[0]
		d.device.Poll(true, &wgpu.WrappedSubmissionIndex{Queue: d.queue, SubmissionIndex: f.index})
		d.flights = d.flights[1:]
		now := time.Now()
		if f.since.Before(d.landed) {
			f.since = d.landed // it waited for the submission before
		}
		if f.recording != nil {
			f.recording.pace.finished(f.commands, now.Sub(f.since))
		}
		d.landed = now
		if err := d.failed("waiting"); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) Write(dst gpu.Buffer, offset int, src []byte) error {
	if err := d.ready(context.Background()); err != nil {
		return err
	}
	b, from, err := d.own(dst)
	if err != nil {
		return err
	}
	if err := dst.Spec().ValidateWrite(offset, len(src)); err != nil || len(src) == 0 {
		return err
	}
	src = gpu.WholeWords(src)
	return d.check(d.queue.WriteBuffer(b.buffer, uint64(from+offset*b.spec.Type.Size()), src), fmt.Sprintf("writing buffer %q", b.spec.Label))
}

func (d *device) Read(ctx context.Context, ranges ...gpu.Range) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	pieces, err := gpu.Pieces(ranges, stagingBytes, d.own)
	if err != nil {
		return err
	}
	if len(pieces) == 0 {
		return d.wait(ctx, 0)
	}
	for len(pieces) > 0 {
		n, total := gpu.Batch(pieces, stagingBytes)
		if err := d.fetch(ctx, pieces[:n], total); err != nil {
			return err
		}
		pieces = pieces[n:]
	}
	return nil
}

// fetch copies the pieces, total bytes, through the staging buffer.
func (d *device) fetch(ctx context.Context, pieces []gpu.Piece[*buffer], total int) error {
	if d.staging == nil {
		staging, err := d.device.CreateBuffer(&wgpu.BufferDescriptor{
			Label: "staging", Size: stagingBytes, Usage: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst,
		})
		if err := d.check(err, "staging buffer"); err != nil {
			return err
		}
		d.staging = staging
	}
	err := d.encode("reading", flight{}, func(encoder *wgpu.CommandEncoder) error {
		at := 0
		for _, p := range pieces {
			if err := encoder.CopyBufferToBuffer(p.Buffer.buffer, uint64(p.From), d.staging, uint64(at), uint64(p.Size)); err != nil {
				return err
			}
			at += p.Size
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.wait(ctx, 0); err != nil {
		return err
	}
	address := C.native_map(reference(d.device), bufferReference(d.staging), C.size_t(total), d.errors)
	if err := d.failed("reading"); err != nil {
		return err
	}
	if address == nil {
		return fmt.Errorf("%w: the buffer to read could not be mapped (status %d)", gpu.ErrLost, d.errors.map_status)
	}
	gpu.Deliver(pieces, unsafe.Slice((*byte)(address), total))
	return d.check(d.staging.Unmap(), "reading")
}
