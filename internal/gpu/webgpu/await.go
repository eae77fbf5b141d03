//go:build js

package webgpu

import (
	"context"
	"fmt"
	"syscall/js"

	"mrprism/internal/gpu"
)

// await blocks the goroutine until the promise is settled or the context ends. It must not be called within a js.FuncOf callback,
// which would never return.
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
		case s := <-done: // what has been answered has been told, and is not told again
			return s.value, s.err
		default:
			return js.Value{}, ctx.Err()
		}
	}
}

// outcome turns the {error, message} that gpu.js answers with into an error; doing says of what.
func outcome(answer js.Value, doing string) error {
	message := answer.Get("message").String()
	var kind error
	switch answer.Get("error").String() {
	case "":
		return nil
	case "no-adapter":
		kind = gpu.ErrNoAdapter
	case "lost":
		kind = gpu.ErrLost
	case "memory":
		kind = gpu.ErrOutOfMemory
	case "validation":
		kind = gpu.ErrValidation
	case "internal":
		kind = gpu.ErrInternal
	default:
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

// askUntil is ask of a method whose last argument is a token: its cancelled is set once nobody waits for the answer any more.
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
