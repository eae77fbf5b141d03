// Package gpu is the interface between the network and the devices that compute it: the browser's
// WebGPU, wgpu-native, Dawn, and Go in float32 or float64. A backend knows buffers, programs and
// lists of dispatches. It knows nothing about operators.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors that every backend wraps, with details.
var (
	ErrNoAdapter   = errors.New("no GPU adapter")
	ErrLost        = errors.New("GPU device lost")
	ErrOutOfMemory = errors.New("out of GPU memory")
	ErrValidation  = errors.New("GPU validation error")
	ErrInternal    = errors.New("GPU driver error") // on a valid program
)

// Device computes. Only one goroutine at a time may call its methods. Lost may be called at any
// time.
type Device interface {
	Info() Info
	// Allocate creates zeroed buffers, all or none. It returns all errors, also out of memory.
	Allocate(ctx context.Context, specs []BufferSpec) ([]Buffer, error)
	// Write copies src, little-endian elements of the buffer's type, into dst starting at element
	// offset.
	Write(dst Buffer, offset int, src []byte) error
	// Read waits for all submitted work and fills the ranges. No other call waits for results.
	Read(ctx context.Context, ranges ...Range) error
	// Prepare compiles pipelines, asynchronously if possible. A compiled program costs nothing.
	Prepare(ctx context.Context, programs []*Program) error
	// Record builds bind groups and uniform parameters for a list of commands. Their programs must be
	// prepared.
	Record(commands []Command) (Recording, error)
	// Run submits recordings in order, in portions short enough for a driver's watchdog. It need not
	// wait for the results.
	Run(ctx context.Context, recordings ...Recording) error
	// Lost receives one error when the device is lost.
	Lost() <-chan error
	// Close releases the device with all its buffers and recordings.
	Close() error
}

// Timed is a Device that can say when its commands ran, if it has the feature Timestamps.
type Timed interface {
	// Spans runs commands, whose programs are prepared, and waits for them. It returns the span of
	// each, on the device's clock. A clear has none.
	Spans(ctx context.Context, commands []Command) ([]Span, error)
}

// Timestamps is the feature of a device that is Timed.
const Timestamps = "timestamp-query"

// Span is when a command began and ended.
type Span struct{ Begin, End time.Duration }

// Kind is the kind of processor. Kernels choose their variants by it.
type Kind string

// The kinds of processor.
const (
	KindDiscrete   Kind = "discrete"
	KindIntegrated Kind = "integrated"
	KindCPU        Kind = "cpu"       // a software adapter: lavapipe, SwiftShader
	KindProcessor  Kind = "processor" // Go, float32
	KindReference  Kind = "reference" // Go, float64
	KindUnknown    Kind = "unknown"
)

// Info describes a device.
type Info struct {
	Backend  string // "dawn", "wgpu", "browser", "processor", "reference"
	Adapter  string // e.g. "NVIDIA H200", "llvmpipe (LLVM 19.1.7, 256 bits)"
	Driver   string
	Kind     Kind
	Features []string // e.g. "shader-f16", "subgroups"
	Limits   Limits
	Exact    bool // every other device with Exact computes the same bits, at any number of threads

	Why string // why auto chose it: "3.1 times as fast as lavapipe here"; or ""
}

// String names the device for people.
func (i Info) String() string { return fmt.Sprintf("%s [%s, %s]", i.Adapter, i.Backend, i.Kind) }

// InGo says whether the device runs the Go bodies of programs instead of their WGSL.
func (i Info) InGo() bool { return i.Kind == KindProcessor || i.Kind == KindReference }

// PackedDot is the WGSL language feature with dot4I8Packed.
const PackedDot = "packed_4x8_integer_dot_product"

// HasFeature says whether the device has the named feature of WebGPU or of the WGSL language.
func (i Info) HasFeature(name string) bool {
	return slices.ContainsFunc(i.Features, func(f string) bool { return strings.EqualFold(f, name) })
}

// Limits of a device. Kernels stay within WebGPU's defaults (DefaultLimits).
type Limits struct {
	StorageBinding         uint64 // largest storage buffer binding, bytes
	BufferSize             uint64 // largest buffer, bytes
	StorageBuffersAStage   uint32
	WorkgroupMemory        uint32 // bytes
	WorkgroupInvocations   uint32
	WorkgroupsADimension   uint32
	UniformOffsetAlignment uint32
}

// DefaultLimits are guaranteed by WebGPU.
func DefaultLimits() Limits {
	return Limits{
		StorageBinding: 128 << 20, BufferSize: 256 << 20, StorageBuffersAStage: 8,
		WorkgroupMemory: 16 << 10, WorkgroupInvocations: 256, WorkgroupsADimension: 65535, UniformOffsetAlignment: 256,
	}
}

// ElementType is the type of a buffer's elements. The devices in Go keep F32 and F16 as float32 or
// float64. They round F16 in Write and Read, and not when programs store values.
type ElementType uint8

// Element types. A 32-bit word has four I8 or two F16, and a buffer's size is rounded up to whole
// words. Programs use F16 only if the device has the feature "shader-f16".
const (
	F32 ElementType = iota
	I32
	U32
	I8
	F16
)

// Size is the bytes of one element.
func (t ElementType) Size() int { return [...]int{4, 4, 4, 1, 2}[t] }

// String is the name of the type in WGSL; i8 is not a type of WGSL.
func (t ElementType) String() string { return [...]string{"f32", "i32", "u32", "i8", "f16"}[t] }

// IsFloat says whether it is F32 or F16.
func (t ElementType) IsFloat() bool { return t == F32 || t == F16 }

// BufferSpec asks for a buffer of Elements elements of Type.
type BufferSpec struct {
	Label    string
	Type     ElementType
	Elements int
}

// Bytes is the size of the buffer on a device: whole 32-bit words.
func (s BufferSpec) Bytes() int { return (s.Elements*s.Type.Size() + 3) / 4 * 4 }

// Buffer is memory on a device.
type Buffer interface {
	Spec() BufferSpec
	Release() // frees the memory; the buffer must not be used afterwards
}

// Range is elements [Offset, Offset+len(Dst)/size) of a buffer. Read copies them to Dst,
// little-endian.
type Range struct {
	Buffer Buffer
	Offset int // elements
	Dst    []byte
}

// Access says how a program uses an argument.
type Access uint8

// Accesses: `var<storage, read>` and `var<storage, read_write>`.
const (
	Read Access = iota
	ReadWrite
)

// Program is one compute entry point. Devices compare programs by pointer: callers make each only
// once.
type Program struct {
	Name      string   // for people: entry point and variant, "conv2d_forward/cpu"
	Source    string   // specialised WGSL
	Entry     string   // "conv2d_forward"
	Arguments []Access // of bindings 1, 2, …; binding 0 is the uniform parameters
	Body      Body     // the same computation in Go, for the reference device; never optimised
	Fast      Fast     // the same computation, fast, for the processor; nil: the processor runs Body
}

// Body computes one whole dispatch in Go. params is the pointer given in the command.
type Body func(params any, arguments []Array)

// Fast computes one whole dispatch in Go and float32, as fast as possible.
type Fast func(params any, arguments []Array32, split Split)

// Split calls part for pieces [from, to) of [0, n), on several processors if there are several, and
// returns when all are done. A cancelled run leaves the remaining pieces out.
type Split func(n int, part func(from, to int))

// A Body gets Arrays, and a Fast gets Array32s.
type (
	Array   = ArrayOf[float64]
	Array32 = ArrayOf[float32]
)

// Float is the type of the elements of F32 and F16 buffers on a device in Go.
type Float interface{ float32 | float64 }

// ArrayOf is a buffer in Go's memory. Only the slice of the buffer's element type is set.
type ArrayOf[F Float] struct {
	F []F      // F32, F16
	I []int32  // I32
	U []uint32 // U32
	B []int8   // I8

	Kept *Kept // derived data that is kept between dispatches; may be nil
}

// Kept holds data that a Fast derived from an argument for later dispatches, for example packed
// weights. A write to the argument makes the data stale. The memory of stale data can be used
// again.
type Kept struct {
	values map[KeptKey]any
	fresh  map[KeptKey]bool
}

// KeptKey names derived data of an argument.
type KeptKey [8]int32

// Get returns derived data, nil if there is none, and whether it is fresh.
func (k *Kept) Get(key KeptKey) (value any, fresh bool) {
	if k == nil {
		return nil, false
	}
	return k.values[key], k.fresh[key]
}

// Set keeps derived data.
func (k *Kept) Set(key KeptKey, value any) {
	if k == nil {
		return
	}
	if k.values == nil {
		k.values, k.fresh = map[KeptKey]any{}, map[KeptKey]bool{}
	}
	k.values[key], k.fresh[key] = value, true
}

// Expire makes all data stale: the argument was written.
func (k *Kept) Expire() { clear(k.fresh) }

// Command is one step of a recording: a dispatch, or with Program nil, a clear of the buffer Clear.
type Command struct {
	Program *Program
	// Params is nil or points to a struct of uint32, int32 and float32: the fields of the WGSL
	// `Params`.
	Params    any
	Arguments []Buffer
	Groups    [3]int // workgroups in x, y, z, each at least 1
	// Fresh says that the last argument's values do not count. The WGSL knows that already; the
	// devices in Go zero that argument, because the program adds to it.
	Fresh bool

	Clear Buffer
}

// Recording is a list of commands that can run many times.
type Recording interface{ Release() }
