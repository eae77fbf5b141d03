//go:build !js && cgo

package webgpu

// #include <stdlib.h>
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

// device is one wgpu-native device. If a device is lost during a poll, wgpu-native aborts the
// process. Nothing here can prevent this: long work needs checkpoints.
type device struct {
	instance *wgpu.Instance
	device   *wgpu.Device
	queue    *wgpu.Queue
	errors   *C.native_errors
	info     gpu.Info
	lost     chan error

	modules   map[string]*wgpu.ShaderModule // by source
	layouts   map[string]layout             // by accesses
	pipelines map[*gpu.Program]*pipeline

	buffers    map[*buffer]bool
	recordings map[*recording]bool
	staging    *wgpu.Buffer // of stagingBytes
	flights    []flight     // unfinished submissions, oldest first
	landed     time.Time    // when the last one was seen to be finished
	closed     bool
}

var _ gpu.Device = (*device)(nil)

type layout struct {
	bindings *wgpu.BindGroupLayout
	pipeline *wgpu.PipelineLayout
}

type pipeline struct {
	pipeline *wgpu.ComputePipeline
	layout   layout
}

type flight struct {
	index     wgpu.SubmissionIndex
	recording *recording // of its commands; nil for a copy
	commands  int
	since     time.Time
}

// maxBinding is the largest binding, bytes, on any adapter: element indices have 32 bits.
const maxBinding = 2 << 30

// stagingBytes is the largest copy from the device.
const stagingBytes = 8 << 20

// Open opens the machine's best adapter: hardware, or a software adapter such as lavapipe.
func Open(ctx context.Context) (gpu.Device, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wgpu.SetLogLevel(wgpu.LogLevelOff) // its messages come back as errors
	ref := C.native_create_instance()
	if ref == nil {
		return nil, fmt.Errorf("%w: wgpu-native did not start", gpu.ErrNoAdapter)
	}
	instance := new(wgpu.Instance)
	*(*unsafe.Pointer)(unsafe.Pointer(instance)) = ref
	adapter, err := instance.RequestAdapter(&wgpu.RequestAdapterOptions{PowerPreference: wgpu.PowerPreferenceHighPerformance})
	if err != nil {
		instance.Release()
		return nil, fmt.Errorf("%w: wgpu-native found no Vulkan, Metal or Direct3D 12 driver: install one "+
			"(a software driver on Debian: apt install mesa-vulkan-drivers)", gpu.ErrNoAdapter)
	}
	defer adapter.Release()
	d := &device{
		instance: instance, lost: make(chan error, 1), errors: (*C.native_errors)(C.calloc(1, C.sizeof_native_errors)),
		modules: map[string]*wgpu.ShaderModule{}, layouts: map[string]layout{}, pipelines: map[*gpu.Program]*pipeline{},
		buffers: map[*buffer]bool{}, recordings: map[*recording]bool{},
	}
	about := adapter.GetInfo()
	storage, size := C.uint64_t(maxBinding), C.uint64_t(maxBinding)
	ref = C.native_request_device(reference(adapter), &storage, &size, d.errors)
	if ref == nil {
		err := d.failed("the device of " + about.DriverDescription)
		C.free(unsafe.Pointer(d.errors))
		instance.Release()
		return nil, fmt.Errorf("%w: %w", gpu.ErrNoAdapter, err)
	}
	d.device = new(wgpu.Device)
	*(*unsafe.Pointer)(unsafe.Pointer(d.device)) = ref
	d.queue = d.device.GetQueue()
	limits := gpu.DefaultLimits()
	limits.StorageBinding, limits.BufferSize = uint64(storage), uint64(size)
	d.info = gpu.Info{
		Backend: "wgpu", Adapter: about.DriverDescription, Driver: about.BackendType.String(), // about.Name is a number
		Kind: kind(about.AdapterType), Limits: limits,
	}
	return d, nil
}

func kind(t wgpu.AdapterType) gpu.Kind {
	switch t {
	case wgpu.AdapterTypeDiscreteGPU:
		return gpu.KindDiscrete
	case wgpu.AdapterTypeIntegratedGPU:
		return gpu.KindIntegrated
	case wgpu.AdapterTypeCPU:
		return gpu.KindCPU
	}
	return gpu.KindUnknown
}

// The library's Go values hold one reference each to a C object. A buffer has its device's before
// it.
var (
	_ [0]struct{} = [unsafe.Sizeof(wgpu.Instance{}) - unsafe.Sizeof(uintptr(0))]struct{}{}
	_ [0]struct{} = [unsafe.Sizeof(wgpu.Adapter{}) - unsafe.Sizeof(uintptr(0))]struct{}{}
	_ [0]struct{} = [unsafe.Sizeof(wgpu.Device{}) - unsafe.Sizeof(uintptr(0))]struct{}{}
	_ [0]struct{} = [unsafe.Sizeof(wgpu.Buffer{}) - 2*unsafe.Sizeof(uintptr(0))]struct{}{}
)

func reference[T wgpu.Adapter | wgpu.Device](t *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(t))
}

func bufferReference(b *wgpu.Buffer) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(b))[1]
}

func (d *device) Info() gpu.Info { return d.info }

func (d *device) Lost() <-chan error { return d.lost }

// ready returns why the device cannot be used now, or nil.
func (d *device) ready(ctx context.Context) error {
	if d.closed {
		return fmt.Errorf("%w: the wgpu device is closed", gpu.ErrLost)
	}
	if d.errors.lost != 0 {
		return d.lose()
	}
	return ctx.Err()
}

func (d *device) lose() error {
	err := fmt.Errorf("%w: %s", gpu.ErrLost, C.GoString(&d.errors.lost_message[0]))
	select {
	case d.lost <- err:
	default:
	}
	return err
}

// failed returns and clears the error that wgpu-native recorded since the last call. doing says
// what failed.
func (d *device) failed(doing string) error {
	if d.errors.lost != 0 && !d.closed {
		return d.lose()
	}
	recorded, message := d.errors._type, C.GoString(&d.errors.message[0])
	d.errors._type = C.native_no_error
	var kind error
	switch recorded {
	case C.native_no_error:
		return nil
	case C.native_out_of_memory:
		kind = gpu.ErrOutOfMemory
	case C.native_validation:
		kind = gpu.ErrValidation
	case C.native_internal:
		kind = gpu.ErrInternal
	case C.native_device_lost:
		kind = gpu.ErrLost
	default:
		return fmt.Errorf("wgpu: %s: %s", doing, message)
	}
	return fmt.Errorf("%w: %s: %s", kind, doing, message)
}

// check returns the recorded error, or err, which a call of the library returned.
func (d *device) check(err error, doing string) error {
	if recorded := d.failed(doing); recorded != nil {
		return recorded
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", gpu.ErrValidation, doing, err)
	}
	return nil
}

type buffer struct {
	device   *device
	spec     gpu.BufferSpec
	buffer   *wgpu.Buffer
	released bool
}

func (b *buffer) Spec() gpu.BufferSpec { return b.spec }

func (b *buffer) Release() {
	if !b.released {
		b.released = true
		delete(b.device.buffers, b)
		b.buffer.Destroy()
		b.buffer.Release()
	}
}

// bound is the size of a binding, bytes, rounded up to whole vec4s. wgpu-native 0.19 compares it
// with the needs of the pipeline before, if both have one layout, and that may need a vec4.
func bound(s gpu.BufferSpec) uint64 { return uint64((s.Bytes() + 15) / 16 * 16) }

func (d *device) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := s.Validate(d.info.Limits); err != nil {
			return nil, err
		}
	}
	buffers := make([]gpu.Buffer, 0, len(specs))
	for _, s := range specs {
		raw, err := d.device.CreateBuffer(&wgpu.BufferDescriptor{
			Label: s.Label, Size: bound(s), Usage: wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst,
		})
		if err := d.check(err, fmt.Sprintf("buffer %q of %d bytes", s.Label, s.Bytes())); err != nil {
			if raw != nil {
				raw.Release()
			}
			for _, b := range buffers {
				b.Release()
			}
			return nil, err
		}
		b := &buffer{device: d, spec: s, buffer: raw}
		d.buffers[b] = true
		buffers = append(buffers, b)
	}
	return buffers, nil
}

func (d *device) own(b gpu.Buffer) (*buffer, int, error) {
	return gpu.Own(b, func(b *buffer) (mine, released bool) { return b.device == d, b.released })
}

// Close waits for the submitted work and frees everything.
func (d *device) Close() error {
	if d.closed {
		return nil
	}
	var err error
	if d.errors.lost == 0 {
		err = d.wait(context.Background(), 0)
	}
	d.closed = true
	for r := range d.recordings {
		r.Release()
	}
	for b := range d.buffers {
		b.Release()
	}
	if d.staging != nil {
		d.staging.Release()
	}
	for _, p := range d.pipelines {
		p.pipeline.Release()
	}
	for _, l := range d.layouts {
		l.pipeline.Release()
		l.bindings.Release()
	}
	for _, m := range d.modules {
		m.Release()
	}
	d.queue.Release()
	d.device.Release()
	d.instance.Release()
	return err // d.errors is not freed: the library may still hold its address
}
