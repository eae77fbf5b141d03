//go:build (linux || darwin) && (amd64 || arm64)

package dawn

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"mrprism/internal/compute/gpu"
)

// device is a gpu.Device on Dawn.
type device struct {
	l        *library
	instance handle
	handle   handle
	queue    handle
	info     gpu.Info

	lost       chan error            // buffered, one
	lostError  atomic.Pointer[error] // set before lost receives it
	uncaptured uncaptured            // errors from outside of error scopes
	closed     bool
	users      []uintptr // numbers of handlers that live as long as the device

	modules   map[string]handle // by WGSL source
	layouts   map[string]layout // by accesses
	pipelines map[*gpu.Program]handle
	compiling map[*gpu.Program]*pending

	buffers    map[*buffer]struct{}
	recordings map[*recording]struct{}
	staging    handle // mappable buffer of Read
	stagingLen uint64

	flight   []submission // unfinished, oldest first
	lastDone doneTime
	guess    time.Duration // cost of steps that never ran
}

// Open loads Dawn and creates a device on the fastest adapter, with all its features and limits.
// Vulkan's VK_DRIVER_FILES can narrow the choice. o or MRPRISM_DAWN_LIB may name the library.
// Otherwise Open looks in the executable's folder, in .dawn of this project's source if the program
// runs within it, in mrprism/dawn of the user's cache directory, and in the system's library
// folders. Without a library the error is a *LibraryError, and without an adapter a
// gpu.ErrNoAdapter.
func Open(ctx context.Context, o Options) (gpu.Device, error) {
	l, err := loadLibrary(o.Library)
	if err != nil {
		return nil, err
	}
	d := &device{
		l: l, lost: make(chan error, 1),
		modules: map[string]handle{}, layouts: map[string]layout{}, pipelines: map[*gpu.Program]handle{},
		compiling: map[*gpu.Program]*pending{},
		buffers:   map[*buffer]struct{}{}, recordings: map[*recording]struct{}{},
	}
	if err := d.open(ctx); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("dawn (%s): %w", l.path, err)
	}
	return d, nil
}

func (d *device) open(ctx context.Context) error {
	l := d.l
	if d.instance = l.createInstance(); d.instance == 0 {
		return fmt.Errorf("%w: no instance was created", gpu.ErrNoAdapter)
	}
	options := &adapterOptions{featureLevel: featureLevelCore, powerPreference: powerHighPerformance, backendType: backendVulkan}
	if runtime.GOOS == "darwin" {
		options.backendType = backendMetal
	}
	got, err := l.begin(d.instance, callbacks().value, func(info callbackInfo) uint64 {
		return l.InstanceRequestAdapter(d.instance, options, info)
	}).wait(ctx)
	if err != nil {
		return fmt.Errorf("requesting an adapter: %w", err)
	}
	if got.status != statusSuccess || got.value == 0 {
		return fmt.Errorf("%w: %s%s", gpu.ErrNoAdapter, oneLine(got.message), adapterHint)
	}
	adapter := got.value
	defer l.AdapterRelease(adapter)

	supported := &limits{}
	if l.AdapterGetLimits(adapter, supported) != statusSuccess || !supported.plausible() {
		return fmt.Errorf("%w: the library's webgpu.h has structures that this program does not know", gpu.ErrNoAdapter)
	}
	supported.next = nil
	info := &adapterInfo{}
	if l.AdapterGetInfo(adapter, info) != statusSuccess {
		return fmt.Errorf("%w: the adapter does not describe itself", gpu.ErrNoAdapter)
	}
	d.describe(info)
	if err := d.request(ctx, adapter, supported); err != nil {
		return err
	}
	d.queue = l.DeviceGetQueue(d.handle)
	granted := &limits{}
	if l.DeviceGetLimits(d.handle, granted) != statusSuccess {
		return fmt.Errorf("%w: the device does not tell its limits", gpu.ErrNoAdapter)
	}
	d.info.Limits = gpu.Limits{
		StorageBinding:         granted.maxStorageBufferBindingSize,
		BufferSize:             granted.maxBufferSize,
		StorageBuffersAStage:   granted.maxStorageBuffersPerShaderStage,
		WorkgroupMemory:        granted.maxComputeWorkgroupStorageSize,
		WorkgroupInvocations:   granted.maxComputeInvocationsPerWorkgroup,
		WorkgroupsADimension:   granted.maxComputeWorkgroupsPerDimension,
		UniformOffsetAlignment: granted.minUniformBufferOffsetAlignment,
	}
	return d.probeFeatures()
}

// adapterHint says what Dawn needs, if it found no adapter.
var adapterHint = map[string]string{
	"linux": " (Dawn computes with Vulkan: it needs libvulkan1 and the GPU's driver or, without a GPU, mesa-vulkan-drivers 25 or newer)",
}[runtime.GOOS]

// createInstance makes an instance that supports waits with a time limit.
func (l *library) createInstance() handle {
	if l.capabilities {
		return l.CreateInstance(unsafe.Pointer(&instanceCapabilities{timedWaitAny: 1, timedWaitMax: 1}))
	}
	feature := uint32(instanceFeatureTimedWaitAny)
	return l.CreateInstance(unsafe.Pointer(&instanceFeatures{featureCount: 1, features: &feature}))
}

// describe fills the part of Info that the adapter knows.
func (d *device) describe(info *adapterInfo) {
	d.info.Backend = "dawn"
	d.info.Adapter = info.device.String()
	if d.info.Adapter == "" {
		d.info.Adapter = info.vendor.String() + " " + info.architecture.String()
	}
	d.info.Driver = info.description.String()
	switch info.adapterType {
	case adapterDiscrete:
		d.info.Kind = gpu.KindDiscrete
	case adapterIntegrated:
		d.info.Kind = gpu.KindIntegrated
	case adapterCPU:
		d.info.Kind = gpu.KindCPU
	default:
		d.info.Kind = gpu.KindUnknown
	}
	d.guess = firstGuess(d.info.Kind)
}

// standardFeatures is the end of WebGPU's own range of WGPUFeatureName; Dawn's features follow.
const standardFeatures = 0x20

// request creates the device. The numbers of features differ between versions of webgpu.h: request
// asks for every standard feature of the adapter, and probeFeatures finds out their names.
func (d *device) request(ctx context.Context, adapter handle, supported *limits) error {
	l := d.l
	var features []uint32
	for f := uint32(1); f < standardFeatures; f++ {
		if l.AdapterHasFeature(adapter, f) != 0 {
			features = append(features, f)
		}
	}
	lost := register(func(_ uint32, _ uintptr, message string) { d.markLost(message) })
	failed := register(func(_ uint32, kind uintptr, message string) {
		d.uncaptured.add(typed(uint32(kind), message))
	})
	d.users = []uintptr{lost, failed}
	descriptor := &deviceDescriptor{
		featureCount:     uintptr(len(features)),
		features:         unsafe.SliceData(features),
		limits:           supported,
		deviceLost:       callbackInfo{mode: callbackAllowProcessEvents, callback: callbacks().value, userdata1: lost},
		uncapturedErrors: errorCallbackInfo{callback: callbacks().value, userdata1: failed},
	}
	got, err := l.begin(d.instance, callbacks().value, func(info callbackInfo) uint64 {
		return l.AdapterRequestDevice(adapter, descriptor, info)
	}).wait(ctx)
	if err != nil {
		return fmt.Errorf("requesting a device of %s: %w", d.info.Adapter, err)
	}
	if got.status != statusSuccess || got.value == 0 {
		return fmt.Errorf("%w: %s gave no device: %s", gpu.ErrNoAdapter, d.info.Adapter, oneLine(got.message))
	}
	d.handle = got.value
	return nil
}

// probeFeatures finds the shader features of the device by compiling their directives.
func (d *device) probeFeatures() error {
	for _, f := range []struct{ name, directive string }{
		{"shader-f16", "enable f16;"}, {"subgroups", "enable subgroups;"},
		{gpu.PackedDot, "requires " + gpu.PackedDot + ";"},
	} {
		var module handle
		err := d.scoped(func() { module = d.createModule(f.name, f.directive) })
		release(d.l.ShaderModuleRelease, module)
		if err == nil {
			d.info.Features = append(d.info.Features, f.name)
		}
	}
	return d.alive()
}

// plausible says whether these can be an adapter's limits. Garbage means that the library has
// another structure.
func (l *limits) plausible() bool {
	return l.maxComputeInvocationsPerWorkgroup >= 64 && l.maxComputeInvocationsPerWorkgroup <= 1<<16 &&
		l.maxComputeWorkgroupsPerDimension >= 1<<10 && l.maxBufferSize >= 1<<20 && l.maxStorageBufferBindingSize >= 1<<20 &&
		l.minUniformBufferOffsetAlignment <= gpu.ParamsStride && bits.OnesCount32(l.minUniformBufferOffsetAlignment) == 1
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// Lost receives one error when the device is lost.
func (d *device) Lost() <-chan error { return d.lost }

// Close waits for the device's work and releases the device with its buffers, recordings and
// pipelines. It may be called again.
func (d *device) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	l := d.l
	for r := range d.recordings {
		r.Release()
	}
	for b := range d.buffers {
		b.Release()
	}
	if d.staging != 0 {
		l.BufferRelease(d.staging)
	}
	for _, p := range d.pipelines {
		l.ComputePipelineRelease(p)
	}
	for _, a := range d.layouts {
		l.PipelineLayoutRelease(a.pipeline)
		l.BindGroupLayoutRelease(a.group)
	}
	for _, m := range d.modules {
		l.ShaderModuleRelease(m)
	}
	if d.queue != 0 {
		l.QueueRelease(d.queue)
	}
	if d.handle != 0 {
		l.DeviceDestroy(d.handle)
		for _, c := range d.compiling { // their callers gave up; they end with the device
			if got, err := c.wait(context.Background()); err == nil {
				release(l.ComputePipelineRelease, got.value)
			}
		}
		l.DeviceRelease(d.handle)
	}
	if d.instance != 0 {
		l.InstanceProcessEvents(d.instance)
		l.InstanceRelease(d.instance)
	}
	for _, user := range d.users {
		unregister(user)
	}
	d.recordings, d.buffers, d.pipelines, d.layouts, d.modules, d.compiling, d.flight = nil, nil, nil, nil, nil, nil, nil
	return nil
}
