//go:build js

package main

import (
	"context"
	"errors"
	"syscall/js"
	"unsafe"
)

// toJS copies bytes into a new Uint8Array.
func toJS(b []byte) js.Value {
	array := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(array, b)
	return array
}

// floatsToJS and wordsToJS copy 32-bit elements into new typed arrays, which are little-endian, as
// wasm is.
func floatsToJS(v []float32) js.Value {
	return js.Global().Get("Float32Array").New(toJS(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))).Get("buffer"))
}

func wordsToJS(v []uint32) js.Value {
	return js.Global().Get("Uint32Array").New(toJS(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))).Get("buffer"))
}

func bytesOf(array js.Value) []byte {
	b := make([]byte, array.Get("byteLength").Int())
	js.CopyBytesToGo(b, array)
	return b
}

// floatsOf copies a Float32Array; null gives nil.
func floatsOf(array js.Value) []float32 {
	if array.IsNull() || array.IsUndefined() {
		return nil
	}
	v := make([]float32, array.Length())
	view := js.Global().Get("Uint8Array").New(array.Get("buffer"), array.Get("byteOffset"), array.Get("byteLength"))
	js.CopyBytesToGo(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v)), view)
	return v
}

// await is what a promise comes to. It may be called anywhere but inside a callback.
func await(ctx context.Context, promise js.Value) (js.Value, error) {
	type outcome struct {
		value js.Value
		err   error
	}
	done := make(chan outcome, 1)
	resolve := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- outcome{value: args[0]}
		return nil
	})
	reject := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- outcome{err: errors.New(args[0].Get("message").String())}
		return nil
	})
	promise.Call("then", resolve, reject)
	release := func() { resolve.Release(); reject.Release() }
	select {
	case o := <-done:
		release()
		return o.value, o.err
	case <-ctx.Done():
		go func() { <-done; release() }() // the callbacks are still to come
		return js.Undefined(), ctx.Err()
	}
}
