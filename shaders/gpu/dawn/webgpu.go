//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import "unsafe"

// These are the declarations of webgpu.h that computing needs, in the layouts of 64-bit platforms.
// The structs spell out the padding that C adds and Go does not.

// handle is a pointer to one of Dawn's objects.
type handle = uintptr

// stringView is WGPUStringView: bytes that need no terminating zero.
type stringView struct {
	data   *byte
	length uintptr
}

func view(s string) stringView { return stringView{unsafe.StringData(s), uintptr(len(s))} }

// String copies the text out of C's memory.
func (v stringView) String() string {
	if v.data == nil || v.length > 1<<24 { // absent (length is then SIZE_MAX) or nonsense
		return ""
	}
	return string(unsafe.Slice(v.data, v.length))
}

type chain struct {
	next  unsafe.Pointer
	sType uint32
	_     uint32
}

const (
	sTypeShaderSourceWGSL = 0x00000002
	sTypeDawnToggles      = 0x0005000A
)

// dawnToggles is WGPUDawnTogglesDescriptor, which stands behind a deviceDescriptor.
type dawnToggles struct {
	chain         chain
	enabledCount  uintptr
	enabled       **byte
	disabledCount uintptr
	disabled      **byte
}

// callbackInfo is WGPU…CallbackInfo of every operation with a future.
type callbackInfo struct {
	next      unsafe.Pointer
	mode      uint32
	_         uint32
	callback  uintptr
	userdata1 uintptr
	userdata2 uintptr
}

const (
	callbackWaitAnyOnly        = 1
	callbackAllowProcessEvents = 2
)

// errorCallbackInfo is WGPUUncapturedErrorCallbackInfo, which has no mode.
type errorCallbackInfo struct {
	next      unsafe.Pointer
	callback  uintptr
	userdata1 uintptr
	userdata2 uintptr
}

// instanceCapabilities is WGPUInstanceDescriptor of 2025's headers: {next, features: {next, enable,
// count}}.
type instanceCapabilities struct {
	next         unsafe.Pointer
	capabilities unsafe.Pointer // features.nextInChain
	timedWaitAny uint32
	_            uint32
	timedWaitMax uintptr
}

// instanceFeatures is WGPUInstanceDescriptor of the newer headers.
type instanceFeatures struct {
	next         unsafe.Pointer
	featureCount uintptr
	features     *uint32
	limits       unsafe.Pointer
}

const instanceFeatureTimedWaitAny = 1

type adapterOptions struct {
	next              unsafe.Pointer
	featureLevel      uint32
	powerPreference   uint32
	forceFallback     uint32
	backendType       uint32
	compatibleSurface handle
}

const (
	featureLevelCore     = 2
	powerHighPerformance = 2
	backendMetal         = 5
	backendVulkan        = 6
)

type adapterInfo struct {
	next            unsafe.Pointer
	vendor          stringView
	architecture    stringView
	device          stringView
	description     stringView
	backendType     uint32
	adapterType     uint32
	vendorID        uint32
	deviceID        uint32
	subgroupMinSize uint32
	subgroupMaxSize uint32
	_               [16]uint64 // room for fields of later headers
}

const (
	adapterDiscrete   = 1
	adapterIntegrated = 2
	adapterCPU        = 3
)

type limits struct {
	next                              unsafe.Pointer
	_                                 [11]uint32 // maxTextureDimension1D … maxSamplersPerShaderStage
	maxStorageBuffersPerShaderStage   uint32
	_                                 [2]uint32 // maxStorageTexturesPerShaderStage, maxUniformBuffersPerShaderStage
	_                                 uint64    // maxUniformBufferBindingSize
	maxStorageBufferBindingSize       uint64
	minUniformBufferOffsetAlignment   uint32
	_                                 [3]uint32 // minStorageBufferOffsetAlignment, maxVertexBuffers, padding
	maxBufferSize                     uint64
	_                                 [5]uint32 // maxVertexAttributes … maxColorAttachmentBytesPerSample
	maxComputeWorkgroupStorageSize    uint32
	maxComputeInvocationsPerWorkgroup uint32
	_                                 [3]uint32 // maxComputeWorkgroupSizeX, …Y, …Z
	maxComputeWorkgroupsPerDimension  uint32
	_                                 uint32
	_                                 [16]uint64 // room for fields of later headers
}

type deviceDescriptor struct {
	next             unsafe.Pointer
	label            stringView
	featureCount     uintptr
	features         *uint32
	limits           *limits
	queueNext        unsafe.Pointer
	queueLabel       stringView
	deviceLost       callbackInfo
	uncapturedErrors errorCallbackInfo
}

type bufferDescriptor struct {
	next             unsafe.Pointer
	label            stringView
	usage            uint64
	size             uint64
	mappedAtCreation uint32
	_                uint32
}

const (
	usageMapRead      = 0x01
	usageCopySrc      = 0x04
	usageCopyDst      = 0x08
	usageUniform      = 0x40
	usageStorage      = 0x80
	usageQueryResolve = 0x200
)

type querySetDescriptor struct {
	next  unsafe.Pointer
	label stringView
	kind  uint32
	count uint32
}

const queryTimestamp = 2

type passTimestamps struct {
	next       unsafe.Pointer
	set        handle
	begin, end uint32
}

type computePassDescriptor struct {
	next       unsafe.Pointer
	label      stringView
	timestamps *passTimestamps
}

type shaderSource struct {
	chain chain
	code  stringView
}

type shaderModuleDescriptor struct {
	next  unsafe.Pointer
	label stringView
}

type bindGroupLayoutEntry struct {
	next       unsafe.Pointer
	binding    uint32
	_          uint32
	visibility uint64
	arraySize  uint32
	_          uint32

	bufferNext       unsafe.Pointer
	bufferType       uint32
	hasDynamicOffset uint32
	minBindingSize   uint64

	// Sampler (16 bytes), texture (24) and storage texture (24): zero is "not used".
	_ [8]uint64
}

const (
	stageCompute          = 4
	bindingUniform        = 2
	bindingStorage        = 3
	bindingReadOnlyBuffer = 4
)

type bindGroupLayoutDescriptor struct {
	next    unsafe.Pointer
	label   stringView
	count   uintptr
	entries *bindGroupLayoutEntry
}

type bindGroupEntry struct {
	next        unsafe.Pointer
	binding     uint32
	_           uint32
	buffer      handle
	offset      uint64
	size        uint64
	sampler     handle
	textureView handle
}

type bindGroupDescriptor struct {
	next    unsafe.Pointer
	label   stringView
	layout  handle
	count   uintptr
	entries *bindGroupEntry
}

type pipelineLayoutDescriptor struct {
	next          unsafe.Pointer
	label         stringView
	count         uintptr
	layouts       *handle
	immediateSize uint32
	_             uint32
}

type computePipelineDescriptor struct {
	next          unsafe.Pointer
	label         stringView
	layout        handle
	stageNext     unsafe.Pointer
	module        handle
	entryPoint    stringView
	constantCount uintptr
	constants     unsafe.Pointer
}

type futureWaitInfo struct {
	future    uint64
	completed uint32
	_         uint32
}

const (
	statusSuccess = 1 // of every callback and of WGPUStatus

	waitSuccess  = 1
	waitTimedOut = 2

	filterValidation  = 1
	filterOutOfMemory = 2
	filterInternal    = 3

	errorNone        = 1
	errorOutOfMemory = 3
	errorInternal    = 4

	mapRead = 1

	pipelineInternalError = 4 // WGPUCreatePipelineAsyncStatus
)
