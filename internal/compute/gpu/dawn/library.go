//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"mrprism/internal/compute/gpu"
)

// proc is the address of a C function with only integers and handles as arguments. Calls need no
// reflection: proc is for functions that are called for each dispatch.
type proc uintptr

// library has the functions of a loaded Dawn. The symbol of a field is "wgpu" and the field's name.
type library struct {
	CreateInstance         func(descriptor unsafe.Pointer) handle
	InstanceProcessEvents  func(handle)
	InstanceRelease        func(handle)
	InstanceRequestAdapter func(instance handle, options *adapterOptions, info callbackInfo) uint64
	InstanceWaitAny        func(instance handle, count uintptr, infos *futureWaitInfo, timeoutNanoseconds uint64) uint32

	AdapterGetInfo       func(adapter handle, info *adapterInfo) uint32
	AdapterGetLimits     func(adapter handle, limits *limits) uint32
	AdapterHasFeature    func(adapter handle, feature uint32) uint32
	AdapterRelease       func(handle)
	AdapterRequestDevice func(adapter handle, descriptor *deviceDescriptor, info callbackInfo) uint64

	DeviceCreateBindGroup            func(device handle, descriptor *bindGroupDescriptor) handle
	DeviceCreateBindGroupLayout      func(device handle, descriptor *bindGroupLayoutDescriptor) handle
	DeviceCreateBuffer               func(device handle, descriptor *bufferDescriptor) handle
	DeviceCreateCommandEncoder       func(device handle, descriptor unsafe.Pointer) handle
	DeviceCreateComputePipelineAsync func(device handle, descriptor *computePipelineDescriptor, info callbackInfo) uint64
	DeviceCreatePipelineLayout       func(device handle, descriptor *pipelineLayoutDescriptor) handle
	DeviceCreateShaderModule         func(device handle, descriptor *shaderModuleDescriptor) handle
	DeviceDestroy                    func(handle)
	DeviceGetLimits                  func(device handle, limits *limits) uint32
	DeviceGetQueue                   func(handle) handle
	DevicePopErrorScope              func(device handle, info callbackInfo) uint64
	DevicePushErrorScope             func(device handle, filter uint32)
	DeviceRelease                    func(handle)

	BufferDestroy             func(handle)
	BufferGetConstMappedRange func(buffer handle, offset, size uintptr) *byte
	BufferMapAsync            func(buffer handle, mode uint64, offset, size uintptr, info callbackInfo) uint64
	BufferRelease             func(handle)
	BufferUnmap               func(handle)

	QueueOnSubmittedWorkDone func(queue handle, info callbackInfo) uint64
	QueueRelease             func(handle)
	QueueSubmit              func(queue handle, count uintptr, commands *handle)
	QueueWriteBuffer         func(queue, buffer handle, offset uint64, data unsafe.Pointer, size uintptr)

	CommandEncoderBeginComputePass   func(encoder handle, descriptor unsafe.Pointer) handle
	CommandEncoderClearBuffer        proc // (encoder, buffer, offset, size)
	CommandEncoderCopyBufferToBuffer proc // (encoder, source, offset, destination, offset, size)
	CommandEncoderFinish             func(encoder handle, descriptor unsafe.Pointer) handle
	CommandEncoderRelease            func(handle)
	CommandBufferRelease             func(handle)

	ComputePassEncoderDispatchWorkgroups proc // (pass, x, y, z)
	ComputePassEncoderEnd                proc // (pass)
	ComputePassEncoderRelease            proc // (pass)
	ComputePassEncoderSetBindGroup       proc // (pass, index, group, 0, nil)
	ComputePassEncoderSetPipeline        proc // (pass, pipeline)

	BindGroupRelease       func(handle)
	BindGroupLayoutRelease func(handle)
	ComputePipelineRelease func(handle)
	PipelineLayoutRelease  func(handle)
	ShaderModuleRelease    func(handle)

	path string
	// capabilities: the library takes an instanceCapabilities, not an instanceFeatures.
	capabilities bool
}

var (
	loading sync.Mutex
	loaded  = map[string]*library{} // by path; never unloaded, because Dawn leaves threads behind
)

// loadLibrary finds and loads Dawn; see Open.
func loadLibrary(named string) (*library, error) {
	loading.Lock()
	defer loading.Unlock()
	var tried strings.Builder
	for _, path := range candidates(named) {
		if l := loaded[path]; l != nil {
			return l, nil
		}
		l, err := openLibrary(path)
		if err == nil {
			loaded[path] = l
			return l, nil
		}
		fmt.Fprintf(&tried, "\n  %s: %v", path, err)
	}
	return nil, fmt.Errorf("%w: no Dawn library could be loaded; `make dawn` fetches one, -dawn-lib or %s names yours. Tried:%s",
		gpu.ErrNoAdapter, LibraryVariable, &tried)
}

// candidates are the files to try, in order. If the user named a library, it is the only one.
func candidates(named string) []string {
	names := map[string][]string{
		"linux": {"libwebgpu_dawn.so", "libwebgpu_wrapper.so"}, "darwin": {"libwebgpu_dawn.dylib", "libwebgpu_wrapper.dylib"},
		"windows": {"webgpu_dawn.dll", "webgpu_wrapper.dll"},
	}[runtime.GOOS]
	if named == "" {
		named = os.Getenv(LibraryVariable)
	}
	var paths []string
	in := func(folder string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	if named != "" {
		if info, err := os.Stat(named); err == nil && info.IsDir() {
			in(named)
			return paths
		}
		return []string{named}
	}
	if executable, err := os.Executable(); err == nil {
		in(filepath.Dir(executable))
	}
	if root := moduleRoot(); root != "" {
		in(filepath.Join(root, ".dawn"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		in(filepath.Join(cache, "mrprism", "dawn"))
	}
	return append(paths, names[0]) // without a folder: the system searches
}

// moduleRoot is the root of this project's source if the working directory is within it, else "".
// Other working directories are not searched: anyone may have put a library there.
func moduleRoot() string {
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		raw, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil {
			if strings.HasPrefix(string(raw), "module mrprism\n") {
				return folder
			}
			return ""
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return ""
		}
		folder = parent
	}
}

func openLibrary(path string) (*library, error) {
	if filepath.Base(path) != path {
		if _, err := os.Stat(path); err != nil {
			return nil, errors.Unwrap(err) // "no such file or directory", without repeating the path
		}
	}
	lib, err := load(path)
	if err != nil {
		return nil, err
	}
	l := &library{path: path}
	fields := reflect.ValueOf(l).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if !fields.Type().Field(i).IsExported() {
			continue
		}
		symbol, err := symbolOf(lib, "wgpu"+name)
		if err != nil {
			return nil, fmt.Errorf("not a Dawn library: %w", err)
		}
		if fields.Field(i).Kind() == reflect.Func {
			purego.RegisterFunc(fields.Field(i).Addr().Interface(), symbol)
		} else {
			fields.Field(i).SetUint(uint64(symbol))
		}
	}
	_, err = symbolOf(lib, "wgpuGetInstanceCapabilities")
	l.capabilities = err == nil
	return l, nil
}

// call calls a function of integers and handles.
func (p proc) call(arguments ...uintptr) { purego.SyscallN(uintptr(p), arguments...) }
