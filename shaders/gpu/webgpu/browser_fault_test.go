//go:build js

package webgpu

import (
	"context"
	"syscall/js"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
)

// The tests inject a browser's faults below gpu.js. None may look like success.

func openBrowser(t *testing.T) (*device, gpu.Buffer) {
	t.Helper()
	d, err := Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	b, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Type: gpu.F32, Elements: 2}})
	require.NoError(t, err)
	require.NoError(t, d.Write(b[0], 0, gpu.Float32Bytes([]float32{3, 4})))
	return d.(*device), b[0]
}

// replace makes a method of a prototype return the result of answer, until the returned function is
// called.
func replace(t *testing.T, object js.Value, method string, answer func() js.Value) (restore func()) {
	original := object.Get(method)
	f := js.FuncOf(func(js.Value, []js.Value) any { return answer() })
	object.Set(method, f)
	restored := false
	restore = func() {
		if !restored {
			restored = true
			object.Set(method, original)
			f.Release()
		}
	}
	t.Cleanup(restore)
	return restore
}

func prototype(class string) js.Value { return js.Global().Get(class).Get("prototype") }

func promise(how string, value any) js.Value { return js.Global().Get("Promise").Call(how, value) }

func read(t *testing.T, d gpu.Device, b gpu.Buffer) ([]float32, error) {
	t.Helper()
	raw := gpu.Float32Bytes([]float32{-1, -1})
	err := d.Read(t.Context(), gpu.Range{Buffer: b, Dst: raw})
	return gpu.BytesFloat32(raw), err
}

func requireRead(t *testing.T, d gpu.Device, b gpu.Buffer) {
	t.Helper()
	values, err := read(t, d, b)
	require.NoError(t, err)
	require.Equal(t, []float32{3, 4}, values)
}

func TestRejectedMapIsAnError(t *testing.T) {
	d, b := openBrowser(t)
	restore := replace(t, prototype("GPUBuffer"), "mapAsync", func() js.Value {
		return promise("reject", js.Global().Get("Error").New("injected"))
	})
	values, err := read(t, d, b)
	require.ErrorIs(t, err, gpu.ErrInternal)
	require.ErrorContains(t, err, "injected")
	assert.Equal(t, []float32{-1, -1}, values, "nothing is delivered")
	restore()
	requireRead(t, d, b)
}

// A GPU that hangs, of which the browser tells nothing, is lost after a minute without an answer: here
// of a clock that runs fast.
func TestSilentGPUIsLost(t *testing.T) {
	d, b := openBrowser(t)
	requireRead(t, d, b)
	later := js.Global().Get("setInterval")
	js.Global().Set("setInterval", js.FuncOf(func(_ js.Value, arguments []js.Value) any { return later.Invoke(arguments[0], 0) }))
	t.Cleanup(func() { js.Global().Set("setInterval", later) })
	replace(t, prototype("GPUBuffer"), "mapAsync", func() js.Value {
		return js.Global().Get("Promise").New(js.FuncOf(func(js.Value, []js.Value) any { return nil }))
	})
	_, err := read(t, d, b)
	require.ErrorIs(t, err, gpu.ErrLost)
	require.ErrorContains(t, err, "the GPU has not answered for 60 seconds")
}

func TestErrorScopesAreHeard(t *testing.T) {
	for class, want := range map[string]error{"GPUOutOfMemoryError": gpu.ErrOutOfMemory, "GPUValidationError": gpu.ErrValidation,
		"GPUInternalError": gpu.ErrInternal} {
		d, b := openBrowser(t)
		before := d.object.Get("buffers").Get("size").Int()
		restore := replace(t, prototype("GPUDevice"), "popErrorScope", func() js.Value {
			return promise("resolve", js.Global().Get(class).New("injected"))
		})
		_, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "a", Elements: 1}, {Label: "b", Elements: 1}})
		require.ErrorIs(t, err, want)
		assert.Equal(t, before, d.object.Get("buffers").Get("size").Int(), "nothing stays allocated")
		_, err = d.Record([]gpu.Command{{Clear: b}})
		require.ErrorIs(t, err, want)
		_, err = read(t, d, b)
		require.ErrorIs(t, err, want)
		restore()
		requireRead(t, d, b)
	}
}

// A driver that cannot compile a valid program gives ErrInternal, and another try may succeed.
func TestDriverRefusesAPipeline(t *testing.T) {
	d, _ := openBrowser(t)
	program := &gpu.Program{
		Name: "nothing", Entry: "nothing", Arguments: []gpu.Access{gpu.ReadWrite},
		Source: "@group(0) @binding(1) var<storage, read_write> x: array<f32>;\n@compute @workgroup_size(1) fn nothing() { x[0] = 0.0; }",
		Body:   func(any, []gpu.Array) {},
	}
	restore := replace(t, prototype("GPUDevice"), "createComputePipelineAsync", func() js.Value {
		reason := js.ValueOf(map[string]any{"reason": "internal"})
		return promise("reject", js.Global().Get("GPUPipelineError").New("injected", reason))
	})
	err := d.Prepare(t.Context(), []*gpu.Program{program})
	require.ErrorIs(t, err, gpu.ErrInternal)
	require.ErrorContains(t, err, "injected")
	restore()
	require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{program}))
}

// The next call that looks at results reports a fault of a run, once.
func TestFailedRunSpoilsTheRead(t *testing.T) {
	d, b := openBrowser(t)
	r, err := d.Record([]gpu.Command{{Clear: b}})
	require.NoError(t, err)
	restore := replace(t, prototype("GPUDevice"), "popErrorScope", func() js.Value {
		return promise("resolve", js.Global().Get("GPUValidationError").New("injected"))
	})
	err = d.Run(t.Context(), r)
	restore()
	if err == nil {
		_, err = read(t, d, b)
	}
	require.ErrorIs(t, err, gpu.ErrValidation)
	values, err := read(t, d, b)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 0}, values)
}

// A read or run that was given up does not take a fault: the next read reports it.
func TestFailureOfAnAbandonedCall(t *testing.T) {
	d, b := openBrowser(t)
	cleared, err := d.Record([]gpu.Command{{Clear: b}})
	require.NoError(t, err)
	for name, call := range map[string]func(context.Context) error{
		"read": func(ctx context.Context) error { return d.Read(ctx, gpu.Range{Buffer: b, Dst: make([]byte, 8)}) },
		"run":  func(ctx context.Context) error { return d.Run(ctx, cleared) },
	} {
		// Earlier submissions are not done yet: both calls wait, and then the submissions fail.
		var settle js.Value
		executor := js.FuncOf(func(_ js.Value, arguments []js.Value) any { settle = arguments[0]; return nil })
		waits := js.Global().Get("Promise").New(executor)
		executor.Release()
		for range 8 {
			d.object.Get("flights").Call("push", waits)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
		cancel()
		d.object.Call("fail", "validation", "injected")
		d.object.Get("flights").Set("length", 0)
		settle.Invoke()
		time.Sleep(100 * time.Millisecond) // until the call that was given up ends
		_, err := read(t, d, b)
		require.ErrorIs(t, err, gpu.ErrValidation, name)
		_, err = read(t, d, b)
		require.NoError(t, err, "it was told")
	}
}

func TestUncapturedErrorSpoilsTheRead(t *testing.T) {
	d, b := openBrowser(t)
	d.object.Get("device").Call("createBuffer", map[string]any{"size": 4, "usage": 0xffff})
	time.Sleep(200 * time.Millisecond) // until the event
	_, err := read(t, d, b)
	require.ErrorIs(t, err, gpu.ErrValidation)
	requireRead(t, d, b)
}

func TestLostDevice(t *testing.T) {
	d, b := openBrowser(t)
	d.object.Get("device").Call("destroy")
	select {
	case err := <-d.Lost():
		require.ErrorIs(t, err, gpu.ErrLost)
	case <-time.After(10 * time.Second):
		t.Fatal("the loss was never told")
	}
	_, err := read(t, d, b)
	require.ErrorIs(t, err, gpu.ErrLost)
	require.ErrorIs(t, d.Write(b, 0, make([]byte, 8)), gpu.ErrLost)
	_, err = d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Elements: 1}})
	require.ErrorIs(t, err, gpu.ErrLost)

	again, b := openBrowser(t) // a fresh device works
	requireRead(t, again, b)
}

func TestNoAdapter(t *testing.T) {
	navigator := js.Global().Get("navigator").Get("gpu")
	restore := replace(t, navigator, "requestAdapter", func() js.Value { return promise("resolve", nil) })
	_, err := Open(t.Context())
	require.ErrorIs(t, err, gpu.ErrNoAdapter)
	restore()
	// The context ends the wait for a browser that never answers.
	restore = replace(t, navigator, "requestAdapter", func() js.Value {
		never := js.FuncOf(func(js.Value, []js.Value) any { return nil })
		return js.Global().Get("Promise").New(never)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = Open(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	restore()
}
