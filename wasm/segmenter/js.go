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

// numbersToJS copies numbers into a new typed array of a kind such as "Float32Array". Typed arrays
// are little-endian, as wasm is.
func numbersToJS[T float32 | uint32](kind string, v []T) js.Value {
	return js.Global().Get(kind).New(toJS(bytesIn(v)).Get("buffer"))
}

// bytesIn is the memory of 32-bit numbers.
func bytesIn[T float32 | uint32](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
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
	js.CopyBytesToGo(bytesIn(v), view)
	return v
}

// await returns the result of a promise. It must not be called inside a callback.
func await(ctx context.Context, promise js.Value) (js.Value, error) {
	type outcome struct {
		value js.Value
		err   error
	}
	done := make(chan outcome, 1)
	var resolve, reject js.Func
	settle := func(o outcome) any {
		done <- o
		resolve.Release()
		reject.Release()
		return nil
	}
	resolve = js.FuncOf(func(_ js.Value, args []js.Value) any { return settle(outcome{value: args[0]}) })
	reject = js.FuncOf(func(_ js.Value, args []js.Value) any {
		return settle(outcome{err: errors.New(args[0].Get("message").String())})
	})
	promise.Call("then", resolve, reject)
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return js.Undefined(), ctx.Err()
	}
}
