// Package gpu is the seam between the network and whatever computes it: the browser's WebGPU, wgpu-native, Dawn, or Go, in float32
// or float64. A backend knows buffers, programs and lists of dispatches; nothing about operators.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errors that every backend returns (wrapped, with detail) for these conditions.
var (
	ErrNoAdapter   = errors.New("no GPU adapter")
	ErrLost        = errors.New("GPU device lost")
	ErrOutOfMemory = errors.New("out of GPU memory")
	ErrValidation  = errors.New("GPU validation error")
	ErrInternal    = errors.New("GPU driver error") // the computation is valid, and the driver could not compile or run it
)

// Device computes. All methods may be called from one goroutine at a time, except Lost, which is safe at any time.
type Device interface {
	Info() Info
	// Allocate creates zeroed buffers. Errors are known when it returns, out of memory included; then nothing is allocated.
	Allocate(ctx context.Context, specs []BufferSpec) ([]Buffer, error)
	// Write copies src, little-endian elements of the buffer's type, into dst starting at element offset.
	Write(dst Buffer, offset int, src []byte) error
	// Read waits for everything submitted and fills each range. It is the only call that waits for results.
	Read(ctx context.Context, ranges ...Range) error
	// Prepare compiles pipelines, asynchronously where possible; programs already compiled cost nothing.
	Prepare(ctx context.Context, programs []*Program) error
	// Record builds bind groups and uniform parameters once for a list of commands whose programs have been prepared.
	Record(commands []Command) (Recording, error)
	// Run submits recordings in order, split where a watchdog needs it. It need not wait for the results.
	Run(ctx context.Context, recordings ...Recording) error
	// Lost receives one error when the device is lost.
	Lost() <-chan error
	// Close releases the device with all its buffers and recordings.
	Close() error
}

// Kind says what sort of processor computes; kernels choose their variants by it.
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

	Why string // why auto took it, where there was a choice: "3.1 times as fast as lavapipe here"; else ""
}

// String names the device for people: adapter, then backend.
func (i Info) String() string { return fmt.Sprintf("%s [%s, %s]", i.Adapter, i.Backend, i.Kind) }

// InGo reports whether programs are computed by their Go bodies, and not by their WGSL.
func (i Info) InGo() bool { return i.Kind == KindProcessor || i.Kind == KindReference }

// PackedDot is, among the features, the one of the WGSL language that has dot4I8Packed.
const PackedDot = "packed_4x8_integer_dot_product"

// HasFeature reports whether the device was created with the named WebGPU feature, or its WGSL has the language feature.
func (i Info) HasFeature(name string) bool {
	for _, f := range i.Features {
		if strings.EqualFold(f, name) {
			return true
		}
	}
	return false
}

// Limits are the device's, in bytes and counts. Kernels stay within WebGPU's defaults (DefaultLimits).
type Limits struct {
	StorageBinding         uint64 // largest storage buffer binding, bytes
	BufferSize             uint64 // largest buffer, bytes
	StorageBuffersAStage   uint32
	WorkgroupMemory        uint32 // bytes
	WorkgroupInvocations   uint32
	WorkgroupsADimension   uint32
	UniformOffsetAlignment uint32
}

// DefaultLimits are what WebGPU guarantees everywhere.
func DefaultLimits() Limits {
	return Limits{
		StorageBinding: 128 << 20, BufferSize: 256 << 20, StorageBuffersAStage: 8,
		WorkgroupMemory: 16 << 10, WorkgroupInvocations: 256, WorkgroupsADimension: 65535, UniformOffsetAlignment: 256,
	}
}

// ElementType is what a buffer holds. Where it is F32 or F16, the devices in Go keep float32 or float64: what is written to F16 and read
// from it is rounded, what programs store is not.
type ElementType uint8

// Element types. I8 is packed four to a 32-bit word, F16 two; a buffer's size is rounded up to whole words. Programs use F16 where the device
// has the feature "shader-f16".
const (
	F32 ElementType = iota
	I32
	U32
	I8
	F16
)

// Size is the bytes of one element.
func (t ElementType) Size() int { return [...]int{4, 4, 4, 1, 2}[t] }

// String is the WGSL-like name.
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
	Release() // returns the memory; a buffer is not used afterwards
}

// Range is elements [Offset, Offset+len(Dst)/size) of a buffer, to be read into Dst, little-endian.
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

// Program is one compute entry point. Programs are compared by pointer; whoever makes them interns them.
type Program struct {
	Name      string   // for people: entry point and variant, "conv2d_forward/cpu"
	Source    string   // specialised WGSL
	Entry     string   // "conv2d_forward"
	Arguments []Access // of bindings 1, 2, …; binding 0 is the uniform parameters
	Body      Body     // the same computation for the reference device; never optimised
	Fast      Fast     // the same for the processor; nil: it computes Body
}

// Body computes one whole dispatch in Go. params is the pointer given in the command.
type Body func(params any, arguments []Array)

// Fast computes one whole dispatch in Go and float32, as fast as that goes.
type Fast func(params any, arguments []Array32, split Split)

// Split calls part for pieces [from, to) that together are [0, n), several at a time where there are several processors, and returns when
// all are done. Between pieces others may run, and a run that was cancelled ends: pieces are then left out.
type Split func(n int, part func(from, to int))

// Array and Array32 are what a Body and a Fast see of a buffer.
type (
	Array   = ArrayOf[float64]
	Array32 = ArrayOf[float32]
)

// Float is how a device in Go holds the elements of F32 and F16 buffers.
type Float interface{ float32 | float64 }

// ArrayOf is a buffer in Go's memory: the one slice that fits the element type.
type ArrayOf[F Float] struct {
	F []F      // F32, F16
	I []int32  // I32
	U []uint32 // U32
	B []int8   // I8

	Kept *Kept // what is kept of it between dispatches; nil: nothing
}

// Kept is what a Fast has made of an argument, for dispatches to come: packed weights. A write to
// the argument makes all of it stale; its memory can be used again.
type Kept struct {
	values map[KeptKey]any
	fresh  map[KeptKey]bool
}

// KeptKey says what was made of an argument.
type KeptKey [8]int32

// Get gives what was made, and whether it still holds; value is nil where nothing was.
func (k *Kept) Get(key KeptKey) (value any, fresh bool) {
	if k == nil {
		return nil, false
	}
	return k.values[key], k.fresh[key]
}

// Set keeps what was made.
func (k *Kept) Set(key KeptKey, value any) {
	if k == nil {
		return
	}
	if k.values == nil {
		k.values, k.fresh = map[KeptKey]any{}, map[KeptKey]bool{}
	}
	k.values[key], k.fresh[key] = value, true
}

// Expire says that the argument was written.
func (k *Kept) Expire() { clear(k.fresh) }

// Command is one step of a recording: a dispatch, or, where Program is nil, zeroing the buffer Clear.
type Command struct {
	Program   *Program
	Params    any // pointer to a struct of uint32, int32 and float32 fields, word for word the WGSL `Params`; nil for none
	Arguments []Buffer
	Groups    [3]int // workgroups in x, y, z, each at least 1

	Clear Buffer
}

// Recording is a list of commands ready to run again and again.
type Recording interface{ Release() }
