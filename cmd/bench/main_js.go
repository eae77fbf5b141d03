package main

import (
	"context"
	"encoding/json"
	"errors"
	"syscall/js"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

// In the browser, runner/worker.js sets options, weights and the name of a device, and forwards
// messages. The program never ends by itself, because the browser still calls back for the closed
// device.
func main() {
	tell := js.Global().Get("benchTell")
	r, err := inWorker(func(stage string) { tell.Invoke("stage", stage) })
	text, failure := json.Marshal(r)
	if err = errors.Join(err, failure); err != nil {
		tell.Invoke("error", err.Error())
	} else if r != nil {
		tell.Invoke("report", string(text))
	}
	select {}
}

// inWorker measures. If benchIsPeer is true, it returns no report, and answers the jobs of -peers.
func inWorker(tell func(string)) (*report, error) {
	var o options
	if err := json.Unmarshal([]byte(js.Global().Get("benchOptions").String()), &o); err != nil {
		return nil, err
	}
	var m *weights.Model
	if o.Weights != "" {
		file := js.Global().Get("benchWeights")
		data := make([]byte, file.Length())
		js.CopyBytesToGo(data, file)
		var err error
		if m, err = weights.Shipped().Open(o.Weights, data); err != nil {
			return nil, err
		}
	}
	ctx := context.Background()
	d, err := device.Open(ctx, js.Global().Get("benchDevice").String(), device.Options{})
	if err != nil {
		return nil, err
	}
	if js.Global().Get("benchIsPeer").Bool() {
		return nil, answerJobs(ctx, d, o, m)
	}
	defer d.Close()
	return bench(ctx, d, o, m, tell)
}

// answerJobs passes a function to benchReady that takes a job and promises its answer, both as
// JSON.
func answerJobs(ctx context.Context, d gpu.Device, o options, m *weights.Model) error {
	u, err := newPeer(ctx, d, o, m)
	if err != nil {
		return err
	}
	reply := func(text string) string {
		var j job
		err := json.Unmarshal([]byte(text), &j)
		a := answer{}
		if err == nil {
			a = u.ask(ctx, j)
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
	return nil
}
