package gputest_test

import "mrprism/shaders/gpu"

// testViews uses views in place of buffers. Nothing outside of the views may change.
func testViews(h *harness) {
	const n, gap = 65, 128 // elements of a view, and between two; 64 are aligned
	b := h.vector(ramp(gap + n)...)
	first, second := gpu.NewView("first", b, 0, n), gpu.NewView("second", b, gap, n)
	last := gpu.NewView("last", second, 64, 1) // a view of a view, at the end of the buffer
	want := ramp(gap + n)
	equal(h, h.floats(second), want[gap:], "a view")
	equal(h, h.floats(last), want[gap+64:], "a view of a view")

	h.check(h.d.Write(second, 1, gpu.Float32Bytes([]float32{-1, -2})), "Write")
	want[gap+1], want[gap+2] = -1, -2
	equal(h, h.floats(b), want, "the buffer after a write to a view")
	equal(h, gpu.BytesFloat32(h.bytes(second, 2, 8)), want[gap+2:gap+4], "a part of a view")
	h.refuse(h.d.Write(first, n-1, make([]byte, 8)), gpu.ErrValidation, "writing past the end of a view")
	h.refuse(h.d.Read(h.ctx, gpu.Range{Buffer: first, Dst: make([]byte, 4*n+4)}), gpu.ErrValidation, "reading past the end of a view")

	p := vectorParams{N: n, Factor: 1}
	x := h.vector(ramp(n)...)
	h.run(dispatch(add, p, x, second), dispatch(both, p, first, second)) // writes two views of one buffer
	for i, v := range ramp(n) {
		sum := want[i] + want[gap+i] + v
		want[i], want[gap+i] = sum, sum
	}
	h.run(dispatch(scale, p, second, x), dispatch(increment, vectorParams{N: 1}, last))
	want[gap+64]++
	equal(h, h.floats(b), want, "the buffer after dispatches on views")
	equal(h, h.floats(x)[:n-1], want[gap:gap+n-1], "what was read from a view")

	h.run(gpu.Command{Clear: second})
	clear(want[gap:])
	equal(h, h.floats(b), want, "the buffer after a view was zeroed")
	first.Release()
	equal(h, h.floats(b), want, "the buffer after a view was released")

	small := h.allocate(gpu.I8, 300)
	part := gpu.NewView("small", small, 256, 5)
	h.check(h.d.Write(part, 0, []byte{1, 2, 3, 4, 5}), "Write")
	equal(h, h.bytes(small, 256, 5), []byte{1, 2, 3, 4, 5}, "int8")
	h.run(gpu.Command{Clear: part})
	equal(h, h.bytes(small, 256, 5), make([]byte, 5), "int8 after it was zeroed")

	for _, wrong := range []func(){
		func() { gpu.NewView("", b, 1, 1) },       // not aligned
		func() { gpu.NewView("", b, -64, 1) },     // before the buffer
		func() { gpu.NewView("", b, gap, n+1) },   // beyond it
		func() { gpu.NewView("", first, 64, 64) }, // beyond a view
		func() { gpu.NewView("", b, 0, 0) },       // nothing
		func() { gpu.NewView("", small, 64, 1) },  // bytes, not words
	} {
		func() {
			defer func() {
				if recover() == nil {
					h.Error("a view that is not aligned or not within its buffer was made")
				}
			}()
			wrong()
		}()
	}
}
