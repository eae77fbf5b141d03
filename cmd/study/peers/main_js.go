package main

import (
	"context"
	"encoding/json"
	"errors"
	"syscall/js"

	"mrprism/cmd/bench/measure"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// In the browser, the program passes a function to benchReady that takes a job and promises its
// answer, both as JSON.
func main() {
	measure.Work(func(ctx context.Context, d gpu.Device, o measure.Options, m *weights.Model, _ func(string)) (any, error) {
		n, err := measure.NewNetwork(ctx, d, o, m)
		if err != nil {
			return nil, err
		}
		reply := func(text string) string {
			var j job
			err := json.Unmarshal([]byte(text), &j)
			a := answer{}
			if err == nil {
				a = ours{n}.ask(ctx, j)
			}
			encoded, failure := json.Marshal(a)
			if err = errors.Join(err, failure); err != nil {
				return `{"error": "a job or an answer is no JSON"}`
			}
			return string(encoded)
		}
		js.Global().Call("benchReady", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
			text := arguments[0].String()
			var executor js.Func
			executor = js.FuncOf(func(_ js.Value, settle []js.Value) any {
				go func() { settle[0].Invoke(reply(text)); executor.Release() }()
				return nil
			})
			return js.Global().Get("Promise").New(executor)
		}))
		return nil, nil
	})
}
