//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"mrprism/shaders/gpu"
)

// layout describes the bindings of all programs with the same accesses.
type layout struct {
	group    handle
	pipeline handle
}

// Compiled says whether the program has a pipeline.
func (d *device) Compiled(p *gpu.Program) bool { return d.pipelines[p] != 0 }

// Compile compiles pipelines, all at the same time. The error names every program that failed, with
// Dawn's message, which has the line of the WGSL.
func (d *device) Compile(ctx context.Context, programs []*gpu.Program) error {
	var failures []error
	for _, p := range programs {
		if err := d.start(p); err != nil {
			failures = append(failures, err)
		}
	}
	for _, p := range programs {
		compiling := d.compiling[p]
		if compiling == nil {
			continue // the program was given twice, or failed above
		}
		got, err := compiling.wait(ctx)
		if err != nil { // a later Prepare waits again
			return fmt.Errorf("program %s: %w", p.Name, err)
		}
		delete(d.compiling, p)
		switch {
		case got.status == statusSuccess && got.value != 0:
			d.pipelines[p] = got.value
		case got.status == pipelineInternalError:
			failures = append(failures, fmt.Errorf("program %s: %w", p.Name, typed(errorInternal, got.message)))
		default:
			failures = append(failures, fmt.Errorf("program %s: %w", p.Name, typed(0, got.message)))
		}
	}
	if err := d.Alive(); err != nil {
		return err
	}
	return errors.Join(failures...)
}

// start begins the compilation of a program that is neither compiled nor being compiled.
func (d *device) start(p *gpu.Program) error {
	if d.pipelines[p] != 0 || d.compiling[p] != nil {
		return nil
	}
	compiling, err := d.compile(p)
	if err != nil {
		return fmt.Errorf("program %s: %w", p.Name, err)
	}
	d.compiling[p] = compiling
	return nil
}

// compile passes one program to Dawn, which compiles it in the background.
func (d *device) compile(p *gpu.Program) (*pending, error) {
	module, err := d.module(p)
	if err != nil {
		return nil, err
	}
	a, err := d.layout(p.Arguments)
	if err != nil {
		return nil, err
	}
	descriptor := &computePipelineDescriptor{label: view(p.Name), layout: a.pipeline, module: module, entryPoint: view(p.Entry)}
	return d.l.begin(d.instance, callbacks().value, func(info callbackInfo) uint64 {
		return d.l.DeviceCreateComputePipelineAsync(d.handle, descriptor, info)
	}), nil
}

// module returns the compiled WGSL. Programs of one source share it.
func (d *device) module(p *gpu.Program) (handle, error) {
	if m := d.modules[p.Source]; m != 0 {
		return m, nil
	}
	var m handle
	if err := d.scoped(func() { m = d.createModule(p.Name, p.Source) }); err != nil {
		release(d.l.ShaderModuleRelease, m)
		return 0, err
	}
	d.modules[p.Source] = m
	return m, nil
}

func (d *device) createModule(label, source string) handle {
	code := &shaderSource{chain: chain{sType: sTypeShaderSourceWGSL}, code: view(source)}
	return d.l.DeviceCreateShaderModule(d.handle, &shaderModuleDescriptor{next: unsafe.Pointer(code), label: view(label)})
}

// layout returns the layout of arguments: the uniform parameters at binding 0, then storage
// buffers.
func (d *device) layout(arguments []gpu.Access) (layout, error) {
	key := make([]byte, len(arguments))
	for i, access := range arguments {
		key[i] = byte(access)
	}
	if a, ok := d.layouts[string(key)]; ok {
		return a, nil
	}
	entries := []bindGroupLayoutEntry{{visibility: stageCompute, bufferType: bindingUniform}}
	for i, access := range arguments {
		kind := uint32(bindingReadOnlyBuffer)
		if access == gpu.ReadWrite {
			kind = bindingStorage
		}
		entries = append(entries, bindGroupLayoutEntry{binding: uint32(i + 1), visibility: stageCompute, bufferType: kind})
	}
	var a layout
	err := d.scoped(func() {
		a.group = d.l.DeviceCreateBindGroupLayout(d.handle, &bindGroupLayoutDescriptor{
			count: uintptr(len(entries)), entries: unsafe.SliceData(entries),
		})
		a.pipeline = d.l.DeviceCreatePipelineLayout(d.handle, &pipelineLayoutDescriptor{count: 1, layouts: &a.group})
	})
	if err != nil {
		release(d.l.PipelineLayoutRelease, a.pipeline)
		release(d.l.BindGroupLayoutRelease, a.group)
		return layout{}, err
	}
	d.layouts[string(key)] = a
	return a, nil
}

// release releases an object, if there is one.
func release(by func(handle), h handle) {
	if h != 0 {
		by(h)
	}
}
