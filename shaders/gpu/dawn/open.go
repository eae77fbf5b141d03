//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"mrprism/shaders/gpu"
)

// device is a gpu.Device on Dawn.
type device struct {
	gpu.Frame[handle, *recording]
	l        *library
	instance handle
	handle   handle
	queue    handle

	uncaptured uncaptured // errors from outside of error scopes
	users      []uintptr  // numbers of handlers that live as long as the device

	modules   map[string]handle // by WGSL source
	layouts   map[string]layout // by accesses
	pipelines map[*gpu.Program]handle
	compiling map[*gpu.Program]*pending

	staging    handle // mappable buffer of Download
	stagingLen uint64

	flight   []submission // unfinished, oldest first
	lastDone doneTime
	guess    time.Duration // cost of steps that never ran
}

var _ gpu.Device = (*device)(nil)

// Open loads Dawn and creates a device on the fastest adapter, with all its features and limits.
// Vulkan's VK_DRIVER_FILES can narrow the choice. MRPRISM_DAWN_LIB may name the library or its
// folder. A named library is loaded unchecked, and Open calls note if it is not the
// prebuilt one of libraries.txt. Otherwise Open looks in the executable's folder and in
// mrprism/dawn of the user's cache folder, and loads only the library with the SHA-512 of
// libraries.txt. It never looks in the working directory. The system finds the libraries that Dawn
// needs (libvulkan, libstdc++), as for every program. Without a library or an adapter the error is
// a gpu.ErrNoAdapter. It lists every file that was tried.
func Open(ctx context.Context, note func(string)) (gpu.Device, error) {
	l, err := loadLibrary(note)
	if err != nil {
		return nil, err
	}
	d := &device{
		l: l, modules: map[string]handle{}, layouts: map[string]layout{}, pipelines: map[*gpu.Program]handle{},
		compiling: map[*gpu.Program]*pending{},
	}
	d.Init(d, "dawn", stagingMost)
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
	d.About.Limits = gpu.Limits{
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
	"linux":   " (Dawn computes with Vulkan: it needs libvulkan1 and the GPU's driver or, without a GPU, mesa-vulkan-drivers 25 or newer)",
	"windows": " (Dawn computes with Vulkan, which comes with the GPU's driver)",
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
	d.About.Backend = "dawn"
	d.About.Adapter = info.device.String()
	if d.About.Adapter == "" {
		d.About.Adapter = info.vendor.String() + " " + info.architecture.String()
	}
	d.About.Driver = info.description.String()
	d.About.Kind = cmp.Or(map[uint32]gpu.Kind{
		adapterDiscrete: gpu.KindDiscrete, adapterIntegrated: gpu.KindIntegrated, adapterCPU: gpu.KindCPU,
	}[info.adapterType], gpu.KindUnknown)
	d.guess = firstGuess(d.About.Kind)
}

// standardFeatures is the end of WebGPU's own range of WGPUFeatureName; Dawn's features follow.
const standardFeatures = 0x20

// ToggleVariable is the environment variable that names toggles of Dawn's for the device, with commas
// between them, such as disable_robustness; -timestamp_quantization disables one. They are for
// experiments: our shaders were proved with none. Dawn passes over names that it does not know.
const ToggleVariable = "MRPRISM_DAWN_TOGGLES"

// toggles asks a device for toggles.
func toggles(names []string) *dawnToggles {
	var on, off []*byte
	for _, name := range names {
		if disabled, found := strings.CutPrefix(name, "-"); found {
			off = append(off, unsafe.StringData(disabled+"\x00"))
		} else {
			on = append(on, unsafe.StringData(name+"\x00"))
		}
	}
	return &dawnToggles{
		chain: chain{sType: sTypeDawnToggles}, enabledCount: uintptr(len(on)), enabled: unsafe.SliceData(on),
		disabledCount: uintptr(len(off)), disabled: unsafe.SliceData(off),
	}
}

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
	lost := register(func(_ uint32, _ uintptr, message string) { _ = d.Lose(message) })
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
	if wanted := os.Getenv(ToggleVariable); wanted != "" {
		descriptor.next = unsafe.Pointer(toggles(strings.Split(wanted, ",")))
	}
	got, err := l.begin(d.instance, callbacks().value, func(info callbackInfo) uint64 {
		return l.AdapterRequestDevice(adapter, descriptor, info)
	}).wait(ctx)
	if err != nil {
		return fmt.Errorf("requesting a device of %s: %w", d.About.Adapter, err)
	}
	if got.status != statusSuccess || got.value == 0 {
		return fmt.Errorf("%w: %s gave no device: %s", gpu.ErrNoAdapter, d.About.Adapter, oneLine(got.message))
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
			d.About.Features = append(d.About.Features, f.name)
		}
	}
	if set, err := d.querySet(2); err == nil {
		d.l.QuerySetRelease(set)
		d.About.Features = append(d.About.Features, gpu.Timestamps)
	}
	return d.Alive()
}

// plausible says whether these can be an adapter's limits. If not, the structure of this library
// differs.
func (l *limits) plausible() bool {
	return l.maxComputeInvocationsPerWorkgroup >= 64 && l.maxComputeInvocationsPerWorkgroup <= 1<<16 &&
		l.maxComputeWorkgroupsPerDimension >= 1<<10 && l.maxBufferSize >= 1<<20 && l.maxStorageBufferBindingSize >= 1<<20 &&
		l.minUniformBufferOffsetAlignment <= gpu.ParamsStride && bits.OnesCount32(l.minUniformBufferOffsetAlignment) == 1
}

// Shut waits for the device's work and releases everything.
func (d *device) Shut(releaseAll func()) error {
	l := d.l
	releaseAll()
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
		for _, c := range d.compiling { // nobody waits for them any more; they end with the device
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
	return nil
}
