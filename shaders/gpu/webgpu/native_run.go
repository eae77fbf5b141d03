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

	"mrprism/shaders/gpu"
)

func (d *device) Compiled(p *gpu.Program) bool { return d.pipelines[p] != nil }

func (d *device) Compile(ctx context.Context, programs []*gpu.Program) error {
	for _, p := range programs {
		if d.Compiled(p) { // the program was given twice
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.compile(p); err != nil {
			return err
		}
	}
	return nil
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
	clear    gpu.Bound[*wgpu.Buffer]
}

type recording struct {
	commands []recorded
	params   *wgpu.Buffer // gpu.ParamsStride bytes for each dispatch
	pace     pace
}

func (d *device) Drop(r *recording) {
	for _, c := range r.commands {
		if c.group != nil {
			c.group.Release()
		}
	}
	if r.params != nil {
		d.Free(r.params)
	}
}

func (d *device) Build(steps []gpu.Step[*wgpu.Buffer], params []byte) (*recording, error) {
	r := &recording{pace: newPace(d.About.Kind), commands: make([]recorded, 0, len(steps))}
	if err := d.build(r, steps, params); err != nil {
		d.Drop(r)
		return nil, err
	}
	return r, nil
}

// build makes the parameters and bind groups of a recording.
func (d *device) build(r *recording, steps []gpu.Step[*wgpu.Buffer], params []byte) (err error) {
	if len(params) > 0 {
		r.params, err = d.device.CreateBuffer(&wgpu.BufferDescriptor{
			Label: "parameters", Size: uint64(len(params)), Usage: wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst,
		})
		if err := d.check(err, "parameters"); err != nil {
			return err
		}
		if err := d.Upload(r.params, 0, params); err != nil {
			return err
		}
	}
	offset := uint64(0)
	for _, s := range steps {
		if s.Program == nil {
			r.commands = append(r.commands, recorded{name: s.Name, clear: s.Bound[0]})
			continue
		}
		entries := []wgpu.BindGroupEntry{{Binding: 0, Buffer: r.params, Offset: offset, Size: gpu.ParamsStride}}
		offset += gpu.ParamsStride
		for i, b := range s.Bound {
			entries = append(entries, wgpu.BindGroupEntry{Binding: uint32(i + 1), Buffer: b.Buffer, Offset: uint64(b.From), Size: bound(b.Size)})
		}
		p := d.pipelines[s.Program]
		group, err := d.device.CreateBindGroup(&wgpu.BindGroupDescriptor{Label: s.Name, Layout: p.layout.bindings, Entries: entries})
		if err := d.check(err, s.Name); err != nil {
			return err
		}
		r.commands = append(r.commands, recorded{
			name: s.Name, pipeline: p.pipeline, group: group,
			groups: [3]uint32{uint32(s.Groups[0]), uint32(s.Groups[1]), uint32(s.Groups[2])},
		})
	}
	return nil
}

func (d *device) Submit(ctx context.Context, recordings []*recording) error {
	for _, r := range recordings {
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
	if err := d.wait(ctx, inFlight(d.About.Kind)-1); err != nil {
		return err
	}
	doing := fmt.Sprintf("%s … %s", commands[0].name, commands[len(commands)-1].name)
	return d.encode(doing, flight{recording: r, commands: len(commands)}, func(encoder *wgpu.CommandEncoder) error {
		for len(commands) > 0 {
			if c := commands[0]; c.pipeline == nil {
				if err := encoder.ClearBuffer(c.clear.Buffer, uint64(c.clear.From), uint64(c.clear.Padded)); err != nil {
					return err
				}
				commands = commands[1:]
				continue
			}
			pass := encoder.BeginComputePass(nil)
			var bound *wgpu.ComputePipeline
			for len(commands) > 0 && commands[0].pipeline != nil {
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
			f.since = d.landed // f waited for the submission before it
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

// Download copies the pieces through the staging buffer.
func (d *device) Download(ctx context.Context, pieces []gpu.Piece[*wgpu.Buffer], total int) error {
	if total == 0 {
		return d.wait(ctx, 0)
	}
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
			if err := encoder.CopyBufferToBuffer(p.Buffer, uint64(p.From), d.staging, uint64(at), uint64(p.Size)); err != nil {
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
