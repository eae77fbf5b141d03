package gputest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
)

// Every device keeps every promise of the interface gpu.Device. In a page the reference is not
// tested: it blocks the timers that would end its work, and no page uses it.
func TestConformance(t *testing.T) {
	inPage := runtime.GOOS == "js"
	for _, name := range device.Names() {
		if name == device.Auto || name == device.Reference && inPage {
			continue
		}
		t.Run(name, func(t *testing.T) {
			gputest.Require(t, name)
			conforms(t, func(ctx context.Context) (gpu.Device, error) { return device.Open(ctx, name, device.Options{}) })
		})
	}
	for level := 0; level < 4 && !inPage; level++ {
		t.Run(fmt.Sprintf("reference with %s=%d", device.DebugVariable, level), func(t *testing.T) {
			conforms(t, func(context.Context) (gpu.Device, error) {
				return device.Debug(reference.Open(), level, io.Discard), nil
			})
		})
	}
}

// conforms tests the devices that open opens.
func conforms(t *testing.T, open func(ctx context.Context) (gpu.Device, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	d, err := open(ctx)
	if err != nil {
		t.Fatalf("opening the device: %v", err)
	}
	defer d.Close()
	t.Logf("%s, driver %s", d.Info(), d.Info().Driver)
	for _, c := range []struct {
		name string
		test func(h *harness)
	}{
		{"Info", testInfo},
		{"AllocatedBuffersAreZero", testZero},
		{"WriteAndReadAtOffsets", testOffsets},
		{"Int8Packing", testInt8},
		{"HalfFloats", testHalf},
		{"LargeBuffers", testLarge},
		{"NaNBits", testNaN},
		{"DispatchWithParameters", testDispatch},
		{"OneSourceSeveralEntryPoints", testOrder},
		{"WorkgroupsInThreeDimensions", testGrid},
		{"EightArguments", testEight},
		{"ParametersAreCopied", testParamsCopied},
		{"ClearInOrder", testClear},
		{"Views", testViews},
		{"RecordingsRunAgain", testReplay},
		{"WritesAreOrderedWithRuns", testWriteOrder},
		{"Spans", testSpans},
		{"ManyCommands", testMany},
		{"ManyRuns", testManyRuns},
		{"Refusals", testRefusals},
		{"RefusedTransfers", testTransfers},
		{"TooLarge", testTooLarge},
		{"BadPrograms", testBadPrograms},
		{"Context", testContext},
		{"NothingLost", testNotLost},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&harness{T: t, ctx: ctx, d: d}) })
	}
	t.Run("Close", func(t *testing.T) { testClose(t, ctx, open) })
}

// harness is a test with a device. Its methods fail the test on an unexpected error.
type harness struct {
	*testing.T
	ctx context.Context
	d   gpu.Device
}

func (h *harness) check(err error, doing string) {
	h.Helper()
	if err != nil {
		h.Fatalf("%s: %v", doing, err)
	}
}

// refuse fails unless err is the wanted kind of error.
func (h *harness) refuse(err, want error, doing string) {
	h.Helper()
	if !errors.Is(err, want) {
		h.Errorf("%s: got error %v, want %v", doing, err, want)
	}
}

func (h *harness) allocate(t gpu.ElementType, elements int) gpu.Buffer {
	h.Helper()
	buffers, err := h.d.Allocate(h.ctx, []gpu.BufferSpec{{Label: "test", Type: t, Elements: elements}})
	h.check(err, "Allocate")
	h.Cleanup(buffers[0].Release)
	return buffers[0]
}

// vector allocates a buffer with values.
func (h *harness) vector(values ...float32) gpu.Buffer {
	h.Helper()
	b := h.allocate(gpu.F32, len(values))
	h.check(h.d.Write(b, 0, gpu.Float32Bytes(values)), "Write")
	return b
}

func (h *harness) record(commands ...gpu.Command) gpu.Recording {
	h.Helper()
	var programs []*gpu.Program
	for _, c := range commands {
		if c.Program != nil && !slices.Contains(programs, c.Program) {
			programs = append(programs, c.Program)
		}
	}
	h.check(h.d.Prepare(h.ctx, programs), "Prepare")
	r, err := h.d.Record(commands)
	h.check(err, "Record")
	h.Cleanup(r.Release)
	return r
}

func (h *harness) run(commands ...gpu.Command) {
	h.Helper()
	h.check(h.d.Run(h.ctx, h.record(commands...)), "Run")
}

func (h *harness) bytes(b gpu.Buffer, offset, n int) []byte {
	h.Helper()
	dst := make([]byte, n)
	h.check(h.d.Read(h.ctx, gpu.Range{Buffer: b, Offset: offset, Dst: dst}), "Read")
	return dst
}

func (h *harness) floats(b gpu.Buffer) []float32 {
	h.Helper()
	return gpu.BytesFloat32(h.bytes(b, 0, 4*b.Spec().Elements))
}

func (h *harness) words(b gpu.Buffer) []uint32 {
	h.Helper()
	raw := h.bytes(b, 0, 4*b.Spec().Elements)
	words := make([]uint32, len(raw)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return words
}

func equal[T comparable](h *harness, got, want []T, what string) {
	h.Helper()
	if len(got) != len(want) {
		h.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			h.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(got), got[i], want[i])
		}
	}
}

// dispatch is a command of a program over params.N elements in workgroups of 64.
func dispatch(p *gpu.Program, params vectorParams, arguments ...gpu.Buffer) gpu.Command {
	return gpu.Command{Program: p, Params: &params, Arguments: arguments, Groups: [3]int{(int(params.N) + 63) / 64, 1, 1}}
}

func ramp(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i%4099) - 17
	}
	return values
}

func testInfo(h *harness) {
	info, least := h.d.Info(), gpu.DefaultLimits()
	if info.Backend == "" || info.Adapter == "" || info.Kind == "" {
		h.Errorf("backend, adapter or kind is empty: %+v", info)
	}
	l := info.Limits
	if l.StorageBinding < least.StorageBinding || l.BufferSize < least.BufferSize ||
		l.StorageBuffersAStage < least.StorageBuffersAStage || l.WorkgroupMemory < least.WorkgroupMemory ||
		l.WorkgroupInvocations < least.WorkgroupInvocations || l.WorkgroupsADimension < least.WorkgroupsADimension ||
		l.UniformOffsetAlignment > gpu.ParamsStride {
		h.Errorf("limits below WebGPU's defaults: %+v", l)
	}
}

func testZero(h *harness) {
	for range 2 { // the second round may get the memory of the first one
		specs := []gpu.BufferSpec{
			{Label: "f32", Type: gpu.F32, Elements: 5}, {Label: "i32", Type: gpu.I32, Elements: 1},
			{Label: "u32", Type: gpu.U32, Elements: 300001}, {Label: "i8", Type: gpu.I8, Elements: 4099},
			{Label: "f16", Type: gpu.F16, Elements: 5},
		}
		buffers, err := h.d.Allocate(h.ctx, specs)
		h.check(err, "Allocate")
		for i, b := range buffers {
			if b.Spec() != specs[i] {
				h.Errorf("buffer %d has spec %+v, want %+v", i, b.Spec(), specs[i])
			}
			n := specs[i].Elements * specs[i].Type.Size()
			if got := h.bytes(b, 0, n); !bytes.Equal(got, make([]byte, n)) {
				h.Errorf("%s is not zero when allocated", specs[i].Label)
			}
			h.check(h.d.Write(b, 0, bytes.Repeat([]byte{0x7f}, n)), "Write")
			b.Release()
		}
	}
}

func testOffsets(h *harness) {
	b := h.allocate(gpu.F32, 10)
	h.check(h.d.Write(b, 3, gpu.Float32Bytes([]float32{1.5, -2.5})), "Write")
	h.check(h.d.Write(b, 9, gpu.Float32Bytes([]float32{7})), "Write at the end")
	h.check(h.d.Write(b, 0, nil), "Write of nothing")
	equal(h, h.floats(b), []float32{0, 0, 0, 1.5, -2.5, 0, 0, 0, 0, 7}, "buffer")

	i := h.allocate(gpu.I32, 3)
	negative := int32(-5)
	h.check(h.d.Write(i, 1, gpu.Uint32Bytes([]uint32{uint32(negative)})), "Write i32")
	equal(h, h.words(i), []uint32{0, uint32(negative), 0}, "i32 buffer")

	// Several ranges in one Read, one of them empty, two of one buffer.
	first, second, third := make([]byte, 8), make([]byte, 4), make([]byte, 4)
	h.check(h.d.Read(h.ctx, gpu.Range{Buffer: b, Offset: 3, Dst: first}, gpu.Range{Buffer: i, Offset: 1, Dst: second},
		gpu.Range{Buffer: i, Offset: 0}, gpu.Range{Buffer: b, Offset: 9, Dst: third}), "Read of four ranges")
	equal(h, gpu.BytesFloat32(first), []float32{1.5, -2.5}, "first range")
	equal(h, second, gpu.Uint32Bytes([]uint32{uint32(negative)}), "second range")
	equal(h, gpu.BytesFloat32(third), []float32{7}, "fourth range")
	h.check(h.d.Read(h.ctx), "Read of nothing")
}

func testInt8(h *harness) {
	const n = 11 // two words and three bytes
	b := h.allocate(gpu.I8, n)
	values := []byte{1, 0xff, 0x80, 0x7f, 5, 6, 7, 8, 9, 0xfe, 11}
	h.check(h.d.Write(b, 0, values[:4]), "Write of one word")
	h.check(h.d.Write(b, 4, values[4:]), "Write up to the end")
	equal(h, h.bytes(b, 0, n), values, "i8 buffer")
	for offset := range n {
		for size := range n - offset {
			equal(h, h.bytes(b, offset, size), values[offset:offset+size], "i8 range")
		}
	}
	unpacked := h.allocate(gpu.I32, n)
	h.run(gpu.Command{Program: unpack, Arguments: []gpu.Buffer{b, unpacked}, Groups: [3]int{1, 1, 1}})
	want := make([]uint32, n)
	for i, v := range values {
		want[i] = uint32(int32(int8(v)))
	}
	equal(h, h.words(unpacked), want, "unpacked int8 values")
}

// Transfers that some devices have to cut, and ranges that begin anywhere in them.
func testLarge(h *harness) {
	const n = 5<<20 + 3 // 20 MiB
	words := make([]uint32, n)
	for i := range words {
		words[i] = uint32(i) * 2654435761
	}
	b := h.allocate(gpu.U32, n)
	h.check(h.d.Write(b, 0, gpu.Uint32Bytes(words)), "Write")
	equal(h, h.words(b), words, "large buffer")
	const from, size = 1<<20 + 7, 3 << 20
	if !bytes.Equal(h.bytes(b, from, 4*size), gpu.Uint32Bytes(words[from:from+size])) {
		h.Error("a large range in the middle differs")
	}
}

func testNaN(h *harness) {
	quiet := math.Float32frombits(0xffc12345) // a NaN with a payload; float64 keeps quiet ones
	values := []float32{1, quiet, float32(math.Inf(1)), 0, float32(math.Inf(-1)), math.MaxFloat32}
	x := h.vector(values...)
	want := gpu.Float32Bytes(values)
	equal(h, h.bytes(x, 0, len(want)), want, "bits after Write and Read")
	nan := h.allocate(gpu.U32, len(values))
	h.run(gpu.Command{Program: isNaN, Arguments: []gpu.Buffer{x, nan}, Groups: [3]int{1, 1, 1}})
	equal(h, h.words(nan), []uint32{0, 1, 0, 0, 0, 0}, "NaN found by a kernel")
}

func testDispatch(h *harness) {
	for _, n := range []int{1, 63, 64, 65, 1000} {
		values := ramp(n)
		x, y := h.vector(values...), h.allocate(gpu.F32, n)
		h.run(dispatch(scale, vectorParams{N: uint32(n), Factor: -1.5, Bias: -3}, x, y))
		want := make([]float32, n)
		for i, v := range values {
			want[i] = -1.5*v - 3
		}
		equal(h, h.floats(y), want, "scaled")
	}
	// A GPU computes the WGSL, and a device in Go the Body.
	z := h.allocate(gpu.F32, 1)
	h.run(dispatch(who, vectorParams{N: 1}, z))
	want := float32(1)
	if h.d.Info().InGo() {
		want = 2
	}
	equal(h, h.floats(z), []float32{want}, "who computed")
}

func testOrder(h *harness) {
	const n = 100
	p := vectorParams{N: n, Factor: 2, Bias: 1}
	x, y := h.vector(ramp(n)...), h.allocate(gpu.F32, n)
	h.run(
		dispatch(scale, p, x, y),                                 // y = 2x + 1
		dispatch(add, p, x, y),                                   // y = 3x + 1
		dispatch(increment, p, y),                                // y = 3x + 2
		dispatch(scale, vectorParams{N: n, Factor: 10}, y, x),    // x = 30x + 20
		dispatch(scale, vectorParams{N: n / 2, Factor: 0}, x, y), // the first half of y = 0
	)
	wantX, wantY := make([]float32, n), make([]float32, n)
	for i, v := range ramp(n) {
		wantX[i] = 30*v + 20
		if i >= n/2 {
			wantY[i] = 3*v + 2
		}
	}
	equal(h, h.floats(x), wantX, "x")
	equal(h, h.floats(y), wantY, "y")
}

func testGrid(h *harness) {
	p := gridParams{7, 5, 3}
	n := int(p.X * p.Y * p.Z)
	cells := h.allocate(gpu.U32, n)
	h.run(gpu.Command{Program: grid, Params: &p, Arguments: []gpu.Buffer{cells}, Groups: [3]int{7, 5, 3}})
	want := make([]uint32, n)
	for i := range want {
		want[i] = uint32(i) + 1
	}
	equal(h, h.words(cells), want, "cells")
}

func testEight(h *harness) {
	var arguments []gpu.Buffer
	for i := range 7 {
		arguments = append(arguments, h.vector(float32(int(1)<<i)))
	}
	sum := h.allocate(gpu.F32, 1)
	h.run(gpu.Command{Program: gather, Arguments: append(arguments, sum), Groups: [3]int{1, 1, 1}})
	equal(h, h.floats(sum), []float32{127}, "sum of seven")
	// One buffer may be read through several arguments.
	for i := range arguments {
		arguments[i] = arguments[3]
	}
	h.run(gpu.Command{Program: gather, Arguments: append(arguments, sum), Groups: [3]int{1, 1, 1}})
	equal(h, h.floats(sum), []float32{56}, "sum of one buffer seven times")
}
