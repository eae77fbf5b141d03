package gputest_test

import (
	"math"

	"mrprism/shaders/gpu"
)

// doubled is y[i] = 2 x[i] of halves.
var doubled = &gpu.Program{
	Name: "gputest_doubled", Entry: "doubled", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite},
	Source: `
enable f16;
@group(0) @binding(1) var<storage, read> x: array<f16>;
@group(0) @binding(2) var<storage, read_write> y: array<f16>;
@compute @workgroup_size(64) fn doubled(@builtin(global_invocation_id) id: vec3u) {
	if (id.x < arrayLength(&x)) { y[id.x] = f16(2.0 * f32(x[id.x])); }
}`,
	Body: func(_ any, a []gpu.Array) {
		for i, v := range a[0].F {
			a[1].F[i] = 2 * v
		}
	},
}

// testHalf moves halves to and from devices, even if their programs cannot compute with them. If
// they can, a program writes the two halves of a word separately.
func testHalf(h *harness) {
	const n = 7 // three words and a half
	b := h.allocate(gpu.F16, n)
	values := []float32{1, -2.5, 65504, 1.0 / (1 << 14), float32(math.Inf(-1)), -1.0 / 1024, 0.1}
	raw := gpu.F16.Encode(values)
	h.check(h.d.Write(b, 0, raw[:4]), "Write of one word")
	h.check(h.d.Write(b, 2, raw[4:]), "Write up to the end")
	equal(h, h.bytes(b, 0, 2*n), raw, "f16 buffer")
	for offset := range n {
		for size := range n - offset {
			equal(h, h.bytes(b, offset, 2*size), raw[2*offset:2*(offset+size)], "f16 range")
		}
	}
	h.refuse(h.d.Write(b, 1, raw[:4]), gpu.ErrValidation, "writing halves from the middle of a word")
	if info := h.d.Info(); !info.InGo() && !info.HasFeature("shader-f16") {
		h.refuse(h.d.Prepare(h.ctx, []*gpu.Program{doubled}), gpu.ErrValidation, "compiling a program of halves without shader-f16")
		return
	}
	y := h.allocate(gpu.F16, n)
	h.run(gpu.Command{Program: doubled, Arguments: []gpu.Buffer{b, y}, Groups: [3]int{1, 1, 1}})
	for i := range values {
		values[i] = gpu.F16.Decode(raw)[i] * 2
	}
	values[2] = float32(math.Inf(1)) // beyond 65504
	equal(h, gpu.F16.Decode(h.bytes(y, 0, 2*n)), values, "doubled halves")
}
