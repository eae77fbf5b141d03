package main

import (
	"context"
	"encoding/json"
	"errors"
	"syscall/js"

	"mrprism/internal/gpu/device"
	"mrprism/weights"
)

// In the browser: runner/worker.js hands over options and weights, and sends on what is told. The program never ends by itself: the
// browser still calls back, of the device that was closed.
func main() {
	tell := js.Global().Get("benchTell")
	r, err := inWorker(func(stage string) { tell.Invoke("stage", stage) })
	text, failure := json.Marshal(r)
	if err = errors.Join(err, failure); err != nil {
		tell.Invoke("error", err.Error())
	} else {
		tell.Invoke("report", string(text))
	}
	select {}
}

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
	d, err := device.Open(ctx, "browser", device.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return bench(ctx, d, o, m, tell)
}
