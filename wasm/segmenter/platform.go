//go:build js

package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"syscall/js"

	"mrprism/internal/page"
	"mrprism/model"
	"mrprism/weights"
)

// platform is the browser, as the host needs it.
func platform(waiting func() bool) page.Platform {
	return page.Platform{
		Device: wish("device"), Precision: model.Precision(wish("precision")), Returns: js.Global().Get("navigator").Get("gpu").Truthy(),
		Models: offered(), Fetch: download, Waiting: waiting,
		Changed: func(d page.Device, note string) {
			post(described(d, map[string]any{"type": "adapter", "note": note, "next": "Closing other pages that use the graphics processor may help."}))
		},
	}
}

// offered are the models that ship, and those that the server offers beside them.
func offered() *weights.Manifest {
	var served []weights.Entry
	if err := json.Unmarshal([]byte(js.Global().Get("mrprismServed").String()), &served); err != nil {
		return weights.Shipped() // a proxy answers for the server
	}
	return &weights.Manifest{Models: slices.Concat(weights.Shipped().Models, served)}
}

// wish is the value of ?NAME=… in the page's address, or empty.
func wish(name string) string { return js.Global().Call("mrprismWish", name).String() }

// described adds the device to a message.
func described(d page.Device, message map[string]any) map[string]any {
	maps.Copy(message, map[string]any{"adapter": d.Name, "gpu": d.GPU, "software": d.Software, "reason": d.Reason, "why": d.Why})
	return message
}

// download implements page.Platform.Fetch through worker.js.
func download(ctx context.Context, file string, anew bool, tell func(done int)) ([]byte, error) {
	var progress js.Func
	progress = js.FuncOf(func(_ js.Value, args []js.Value) any {
		if ctx.Err() != nil {
			progress.Release()
			return false // ends the download
		}
		tell(args[0].Int())
		return true
	})
	data, err := await(ctx, js.Global().Call("mrprismDownload", "weights/"+file, anew, progress))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	progress.Release()
	if err != nil {
		return nil, err
	}
	return bytesOf(data), nil
}
