//go:build !js && cgo

package webgpu

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"cmp"
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"

	"mrprism/shaders/gpu"
)

// device is one wgpu-native device. If a device is lost during a poll, wgpu-native aborts the
// process. Nothing here can prevent this: long work needs checkpoints.
type device struct {
	gpu.Frame[*wgpu.Buffer, *recording]
	instance *wgpu.Instance
	device   *wgpu.Device
	queue    *wgpu.Queue
	errors   *C.native_errors

	modules   map[string]*wgpu.ShaderModule // by source
	layouts   map[string]layout             // by accesses
	pipelines map[*gpu.Program]*pipeline

	staging *wgpu.Buffer // of stagingBytes
	flights []flight     // unfinished submissions, oldest first
	landed  time.Time    // when the last finished submission was seen to be finished
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
		instance: instance, errors: (*C.native_errors)(C.calloc(1, C.sizeof_native_errors)),
		modules: map[string]*wgpu.ShaderModule{}, layouts: map[string]layout{}, pipelines: map[*gpu.Program]*pipeline{},
	}
	d.Init(d, "wgpu", stagingBytes)
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
	d.About = gpu.Info{
		Backend: "wgpu", Driver: about.BackendType.String(), Adapter: about.DriverDescription, // Name is a number
		Kind: cmp.Or(map[wgpu.AdapterType]gpu.Kind{
			wgpu.AdapterTypeDiscreteGPU: gpu.KindDiscrete, wgpu.AdapterTypeIntegratedGPU: gpu.KindIntegrated,
			wgpu.AdapterTypeCPU: gpu.KindCPU,
		}[about.AdapterType], gpu.KindUnknown),
		Limits: limits,
	}
	return d, nil
}

// Each of the library's Go values holds one reference to a C object. In a buffer, the device's
// reference comes before it.
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

// Failure returns an error if the device is lost. Calls of the library return all others.
func (d *device) Failure() error {
	if d.errors.lost != 0 {
		return d.Lose(C.GoString(&d.errors.lost_message[0]))
	}
	return nil
}

// failed returns and clears the error that wgpu-native recorded since the last call. doing says
// what failed.
func (d *device) failed(doing string) error {
	if err := d.Failure(); err != nil {
		return err
	}
	recorded := d.errors._type
	if recorded == C.native_no_error {
		return nil
	}
	d.errors._type = C.native_no_error
	message := C.GoString(&d.errors.message[0])
	kind := map[C.int]error{
		C.native_out_of_memory: gpu.ErrOutOfMemory, C.native_validation: gpu.ErrValidation,
		C.native_internal: gpu.ErrInternal, C.native_device_lost: gpu.ErrLost,
	}[recorded]
	if kind == nil {
		return fmt.Errorf("%s: %s", doing, message)
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

// bound is the size of a binding of n bytes, rounded up to whole vec4s. wgpu-native 0.19 compares
// it with the needs of an earlier pipeline of the same layout, which may be a vec4.
func bound(n int) uint64 { return uint64((n + 15) / 16 * 16) }

func (d *device) Create(_ context.Context, specs []gpu.BufferSpec) ([]*wgpu.Buffer, error) {
	buffers := make([]*wgpu.Buffer, 0, len(specs))
	for _, s := range specs {
		b, err := d.device.CreateBuffer(&wgpu.BufferDescriptor{
			Label: s.Label, Size: bound(s.Bytes()), Usage: wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst,
		})
		if err := d.check(err, fmt.Sprintf("buffer %q of %d bytes", s.Label, s.Bytes())); err != nil {
			if b != nil {
				b.Release()
			}
			for _, b := range buffers {
				d.Free(b)
			}
			return nil, err
		}
		buffers = append(buffers, b)
	}
	return buffers, nil
}

func (d *device) Free(b *wgpu.Buffer) {
	b.Destroy()
	b.Release()
}

func (d *device) Upload(to *wgpu.Buffer, at int, src []byte) error {
	return d.check(d.queue.WriteBuffer(to, uint64(at), src), "writing")
}

// Shut waits for the submitted work.
func (d *device) Shut(release func()) error {
	var err error
	if d.errors.lost == 0 {
		err = d.wait(context.Background(), 0)
	}
	release()
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
