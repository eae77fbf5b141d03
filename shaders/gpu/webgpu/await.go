//go:build js

package webgpu

import (
	"context"
	"fmt"
	"syscall/js"

	"mrprism/shaders/gpu"
)

// await blocks the goroutine until the promise is settled or the context ends. A js.FuncOf callback
// must not call it: it would never return.
func await(ctx context.Context, promise js.Value) (js.Value, error) {
	type settled struct {
		value js.Value
		err   error
	}
	done := make(chan settled, 1)
	var resolved, rejected js.Func
	settle := func(s settled) {
		done <- s
		resolved.Release()
		rejected.Release()
	}
	resolved = js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		settle(settled{value: arguments[0]})
		return nil
	})
	rejected = js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		settle(settled{err: fmt.Errorf("browser: %s", js.Global().Call("String", arguments[0]).String())})
		return nil
	})
	promise.Call("then", resolved, rejected)
	select {
	case s := <-done:
		return s.value, s.err
	case <-ctx.Done():
		select {
		case s := <-done: // an answer comes only once
			return s.value, s.err
		default:
			return js.Value{}, ctx.Err()
		}
	}
}

// outcome turns an answer of gpu.js, {error, message}, into an error. doing says what failed.
func outcome(answer js.Value, doing string) error {
	code, message := answer.Get("error").String(), answer.Get("message").String()
	if code == "" {
		return nil
	}
	kind := map[string]error{
		"no-adapter": gpu.ErrNoAdapter, "lost": gpu.ErrLost, "memory": gpu.ErrOutOfMemory, "validation": gpu.ErrValidation, "internal": gpu.ErrInternal,
	}[code]
	if kind == nil {
		return fmt.Errorf("browser: %s: %s", doing, message)
	}
	return fmt.Errorf("%w: %s: %s", kind, doing, message)
}

// ask calls a method of gpu.js that answers with a promise and waits for it.
func ask(ctx context.Context, doing string, object js.Value, method string, arguments ...any) (js.Value, error) {
	answer, err := await(ctx, object.Call(method, arguments...))
	if err != nil {
		return js.Value{}, err
	}
	return answer, outcome(answer, doing)
}

// askUntil is ask for a method whose last argument is a token. askUntil sets the token's cancelled
// when it stops waiting for the answer.
func askUntil(ctx context.Context, doing string, object js.Value, method string, arguments ...any) (js.Value, error) {
	token := js.ValueOf(map[string]any{"cancelled": false})
	answer, err := ask(ctx, doing, object, method, append(arguments, token)...)
	if err != nil {
		token.Set("cancelled", true)
	}
	return answer, err
}

// bytesToJS copies bytes into a new Uint8Array.
func bytesToJS(b []byte) js.Value {
	array := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(array, b)
	return array
}
