package measure

import (
	"context"
	"encoding/json"
	"errors"
	"syscall/js"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

// Work runs a program in the browser: runner/worker.js sets options, weights and the name of a
// device, and forwards messages. work gets the open device, and tells stages; its report, if it is
// not nil, is sent as JSON. The program never ends by itself, because the browser still calls back
// for the closed device.
func Work(work func(ctx context.Context, d gpu.Device, o Options, m *weights.Model, tell func(string)) (report any, err error)) {
	tell := js.Global().Get("benchTell")
	report, err := inWorker(func(ctx context.Context, d gpu.Device, o Options, m *weights.Model) (any, error) {
		return work(ctx, d, o, m, func(stage string) { tell.Invoke("stage", stage) })
	})
	text, failure := json.Marshal(report)
	if err = errors.Join(err, failure); err != nil {
		tell.Invoke("error", err.Error())
	} else if report != nil {
		tell.Invoke("report", string(text))
	}
	select {}
}

func inWorker(work func(context.Context, gpu.Device, Options, *weights.Model) (any, error)) (any, error) {
	var o Options
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
	return work(ctx, d, o, m)
}
