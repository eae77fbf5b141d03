//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"mrprism/shaders/gpu"
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
	DeviceCreateQuerySet             func(device handle, descriptor *querySetDescriptor) handle
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
	CommandEncoderResolveQuerySet    func(encoder, set handle, first, count uint32, to handle, offset uint64)
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
	QuerySetRelease        func(handle)
	ShaderModuleRelease    func(handle)

	path string
	// capabilities says that the library takes an instanceCapabilities, not an instanceFeatures.
	capabilities bool
}

var (
	loading sync.Mutex
	loaded  = map[string]*library{} // by path; never unloaded, because Dawn leaves threads behind
)

// libraries has a line for each prebuilt library: Go's name of the system, package, SHA-512 of its
// archive, name of the file, SHA-512 of the file.
//
//go:embed libraries.txt
var libraries string

// prebuilt returns the name and SHA-512 of the library for this system, or empty strings.
func prebuilt() (name, sum string) {
	for line := range strings.Lines(libraries) {
		if word := strings.Fields(line); word[0] == runtime.GOOS+"/"+runtime.GOARCH {
			return word[3], word[4]
		}
	}
	return "", ""
}

// loadLibrary finds and loads Dawn; see Open.
func loadLibrary(note func(string)) (*library, error) {
	loading.Lock()
	defer loading.Unlock()
	paths, err := candidates()
	var tried strings.Builder
	for _, c := range paths {
		if l := loaded[c.path]; l != nil {
			return l, nil
		}
		l, err := c.open(note)
		if err == nil {
			loaded[c.path] = l
			return l, nil
		}
		fmt.Fprintf(&tried, "\n  %q: %v", c.path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gpu.ErrNoAdapter, err)
	}
	return nil, fmt.Errorf("%w: no Dawn library could be loaded; `make dawn` fetches one, %s names yours. Tried:%s",
		gpu.ErrNoAdapter, LibraryVariable, &tried)
}

// candidate is a file that may be Dawn. Its path is absolute: the system would search for a bare
// name, perhaps in the working directory, where a stranger's archive may have put a library.
type candidate struct {
	path  string
	named bool // the user named it: it is loaded without a check
}

// candidates are the files to try, in order. If the user named a file or folder, they are the only
// candidates.
func candidates() ([]candidate, error) {
	if path := os.Getenv(LibraryVariable); path != "" {
		if !filepath.IsAbs(path) { // a relative path depends on the working directory
			return nil, fmt.Errorf("%s is %q: name the Dawn library there by an absolute path", LibraryVariable, path)
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return []candidate{{path, true}}, nil
		}
		var files []candidate
		for _, name := range map[string][]string{
			"linux": {"libwebgpu_dawn.so", "libwebgpu_wrapper.so"}, "darwin": {"libwebgpu_dawn.dylib", "libwebgpu_wrapper.dylib"},
			"windows": {"webgpu_dawn.dll", "webgpu_wrapper.dll"},
		}[runtime.GOOS] {
			files = append(files, candidate{filepath.Join(path, name), true})
		}
		return files, nil
	}
	name, _ := prebuilt()
	if name == "" {
		return nil, fmt.Errorf("no prebuilt Dawn library for %s/%s: %s names yours", runtime.GOOS, runtime.GOARCH, LibraryVariable)
	}
	var files []candidate
	if executable, err := os.Executable(); err == nil && filepath.IsAbs(executable) {
		files = append(files, candidate{filepath.Join(filepath.Dir(executable), name), false})
	}
	if cache, err := os.UserCacheDir(); err == nil && filepath.IsAbs(cache) { // relative if HOME is
		files = append(files, candidate{filepath.Join(cache, "mrprism", "dawn", name), false})
	}
	return files, nil
}

// open loads the prebuilt library, or a file that the user named. If the latter is not the prebuilt
// library, open calls note before it loads the file.
func (c candidate) open(note func(string)) (*library, error) {
	_, sum := prebuilt()
	if !c.named {
		return bind(c.path, func() (uintptr, error) { return loadChecked(c.path, sum) })
	}
	err := check(c.path, sum, io.Discard)
	if errors.Is(err, errForeign) {
		note(fmt.Sprintf("the Dawn library %q is loaded unchecked, because you named it: it is none that `make dawn` fetches", c.path))
	} else if err != nil {
		return nil, err
	}
	return bind(c.path, func() (uintptr, error) { return load(c.path) })
}

// errForeign is the error of a file that is not the prebuilt library.
var errForeign = errors.New("not loaded: its SHA-512 is not that of the library that `make dawn` fetches")

// check copies a file to w, and returns errForeign if its SHA-512 is not sum.
func check(path, sum string, w io.Writer) error {
	info, err := os.Stat(path)
	if err != nil {
		return errors.Unwrap(err) // "no such file or directory", without repeating the path
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	defer file.Close()
	hash := sha512.New()
	if _, err := io.Copy(io.MultiWriter(w, hash), file); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != sum {
		return errForeign
	}
	return nil
}

// bind loads a library and finds its functions.
func bind(path string, load func() (uintptr, error)) (*library, error) {
	lib, err := load()
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
