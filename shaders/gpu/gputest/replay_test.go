package gputest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"mrprism/shaders/gpu"
)

func testParamsCopied(h *harness) {
	x, y := h.vector(1), h.allocate(gpu.F32, 1)
	c := dispatch(scale, vectorParams{N: 1, Factor: 3}, x, y)
	r := h.record(c)
	c.Params.(*vectorParams).Factor = 100
	c.Arguments[0] = nil
	h.check(h.d.Run(h.ctx, r), "Run")
	equal(h, h.floats(y), []float32{3}, "y")
}

func testClear(h *harness) {
	p := vectorParams{N: 3, Factor: 1}
	x, y, z := h.vector(1, 2, 3), h.vector(9, 9, 9), h.allocate(gpu.I8, 5)
	h.check(h.d.Write(z, 0, []byte{1, 2, 3, 4, 5}), "Write")
	h.run(
		gpu.Command{Clear: y},
		dispatch(add, p, x, y), // y = x
		gpu.Command{Clear: x},
		gpu.Command{Clear: z},
		dispatch(add, p, x, y), // adds 0
		dispatch(increment, p, y),
	)
	equal(h, h.floats(y), []float32{2, 3, 4}, "y")
	equal(h, h.floats(x), []float32{0, 0, 0}, "x")
	equal(h, h.bytes(z, 0, 5), make([]byte, 5), "z")
	h.check(h.d.Run(h.ctx, h.record()), "Run of an empty recording")
	h.check(h.d.Run(h.ctx), "Run of nothing")
}

func testReplay(h *harness) {
	p := vectorParams{N: 2, Factor: 2}
	x, y := h.vector(1, 10), h.allocate(gpu.F32, 2)
	accumulate := h.record(dispatch(add, p, x, y))
	double := h.record(dispatch(scale, p, y, x))
	h.check(h.d.Run(h.ctx, accumulate, accumulate, double, accumulate), "Run") // y = 2x; x = 4, 40; y = 6, 60
	equal(h, h.floats(y), []float32{6, 60}, "y")
	h.check(h.d.Write(x, 1, gpu.Float32Bytes([]float32{-60})), "Write")
	h.check(h.d.Run(h.ctx, accumulate), "Run again")
	equal(h, h.floats(y), []float32{10, 0}, "y after a new x")
	// Releasing one recording leaves the other, and their buffers, as they are.
	accumulate.Release()
	h.check(h.d.Run(h.ctx, double), "Run after a release")
	equal(h, h.floats(x), []float32{20, 0}, "x")
}

// Run may return before it has computed, but it must not see a later Write.
func testWriteOrder(h *harness) {
	const n = 1 << 16
	p := vectorParams{N: n, Factor: 1}
	x, y := h.vector(ramp(n)...), h.allocate(gpu.F32, n)
	r := h.record(dispatch(add, p, x, y))
	for range 4 {
		h.check(h.d.Run(h.ctx, r), "Run")
		h.check(h.d.Write(x, 0, gpu.Float32Bytes(make([]float32, n))), "Write")
	}
	equal(h, h.floats(y), ramp(n), "y")
}

func testMany(h *harness) {
	p := vectorParams{N: 65}
	z := h.allocate(gpu.F32, 65)
	commands := make([]gpu.Command, 3000)
	for i := range commands {
		commands[i] = dispatch(increment, p, z)
	}
	h.run(commands...)
	want := make([]float32, 65)
	for i := range want {
		want[i] = 3000
	}
	equal(h, h.floats(z), want, "z")
}

func testManyRuns(h *harness) {
	z := h.allocate(gpu.F32, 1)
	r := h.record(dispatch(increment, vectorParams{N: 1}, z))
	for range 300 {
		h.check(h.d.Run(h.ctx, r), "Run")
	}
	equal(h, h.floats(z), []float32{300}, "z")
}

func testContext(h *harness) {
	cancelled, cancel := context.WithCancel(h.ctx)
	cancel()
	z := h.allocate(gpu.F32, 64)
	r := h.record(dispatch(increment, vectorParams{N: 64}, z))
	_, err := h.d.Allocate(cancelled, []gpu.BufferSpec{{Type: gpu.F32, Elements: 1}})
	h.refuse(err, context.Canceled, "Allocate")
	h.refuse(h.d.Prepare(cancelled, []*gpu.Program{increment}), context.Canceled, "Prepare")
	h.refuse(h.d.Run(cancelled, r), context.Canceled, "Run")
	h.refuse(h.d.Read(cancelled, gpu.Range{Buffer: z, Dst: make([]byte, 4)}), context.Canceled, "Read")
	equal(h, h.floats(z), make([]float32, 64), "z after a cancelled run")

	// Work of minutes ends soon after its context does, and the device stays usable.
	const elements = 4096
	long := h.allocate(gpu.F32, elements)
	commands := make([]gpu.Command, 20000)
	for i := range commands {
		commands[i] = gpu.Command{
			Program: slow, Params: &vectorParams{N: 2000, Factor: 0.5}, Arguments: []gpu.Buffer{long}, Groups: [3]int{elements / 64, 1, 1},
		}
	}
	work := h.record(commands...)
	short, cancel := context.WithTimeout(h.ctx, 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	for err = nil; err == nil && time.Since(start) < time.Minute; {
		if err = h.d.Run(short, work); err == nil {
			err = h.d.Read(short, gpu.Range{Buffer: long, Dst: make([]byte, 4)})
		}
	}
	h.refuse(err, context.DeadlineExceeded, "long work")
	if took := time.Since(start); took > 20*time.Second {
		h.Errorf("work went on for %v after its context ended", took)
	}
	h.check(h.d.Run(h.ctx, r), "Run afterwards")
	if got := h.floats(z); got[0] != 1 {
		h.Errorf("a run after an interrupted one gave %v, want 1", got[0])
	}
}

func testNotLost(h *harness) {
	select {
	case err := <-h.d.Lost():
		h.Errorf("the device says it was lost: %v", err)
	default:
	}
}

func testClose(t *testing.T, ctx context.Context, open func(context.Context) (gpu.Device, error)) {
	for range 2 { // a second device works after the first was closed
		d, err := open(ctx)
		if err != nil {
			t.Fatalf("opening: %v", err)
		}
		h := &harness{T: t, ctx: ctx, d: d}
		buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "kept", Type: gpu.F32, Elements: 1}, {Label: "released", Type: gpu.F32, Elements: 1}})
		h.check(err, "Allocate")
		h.check(d.Prepare(ctx, []*gpu.Program{increment}), "Prepare")
		r, err := d.Record([]gpu.Command{dispatch(increment, vectorParams{N: 1}, buffers[0])})
		h.check(err, "Record")
		h.check(d.Run(ctx, r), "Run")
		buffers[1].Release()
		buffers[1].Release()
		h.check(d.Close(), "Close with work under way")
		h.check(d.Close(), "Close again")
		buffers[0].Release()
		r.Release()
		_, err = d.Allocate(ctx, []gpu.BufferSpec{{Type: gpu.F32, Elements: 1}})
		h.refuse(err, gpu.ErrLost, "Allocate on a closed device")
		h.refuse(d.Run(ctx, r), gpu.ErrLost, "Run on a closed device")
		h.refuse(d.Write(buffers[0], 0, make([]byte, 4)), gpu.ErrLost, "Write on a closed device")
		h.refuse(d.Read(ctx, gpu.Range{Buffer: buffers[0], Dst: make([]byte, 4)}), gpu.ErrLost, "Read on a closed device")
		h.refuse(d.Prepare(ctx, []*gpu.Program{add}), gpu.ErrLost, "Prepare on a closed device")
		if _, err := d.Record(nil); !errors.Is(err, gpu.ErrLost) {
			t.Errorf("Record on a closed device: got %v", err)
		}
	}
}

// A device with a clock computes as Run does, and says when: commands that need each other's results
// one after the other, a clear at no time.
func testSpans(h *harness) {
	clock, ok := h.d.(gpu.Timed)
	if !ok || !h.d.Info().HasFeature(gpu.Timestamps) {
		h.Skip("no clock")
	}
	x, y := h.vector(ramp(65)...), h.allocate(gpu.F32, 65)
	p := vectorParams{N: 65, Factor: 1}
	commands := []gpu.Command{{Clear: y}, dispatch(add, p, x, y)}
	for range 600 { // more than one submission
		commands = append(commands, dispatch(increment, p, y))
	}
	h.check(h.d.Prepare(h.ctx, []*gpu.Program{add, increment}), "Prepare")
	spans, err := clock.Spans(h.ctx, commands)
	h.check(err, "Spans")
	want := ramp(65)
	for i := range want {
		want[i] += 600
	}
	equal(h, h.floats(y), want, "y")
	if len(spans) != len(commands) || spans[0] != (gpu.Span{}) {
		h.Fatalf("%d spans of %d commands, the clear's is %v", len(spans), len(commands), spans[0])
	}
	for i, s := range spans[1:] {
		if s.Begin <= 0 || s.End < s.Begin || s.Begin < spans[i].End {
			h.Fatalf("command %d ran at %v, the one before at %v", i+1, s, spans[i])
		}
	}
}
