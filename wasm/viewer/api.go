//go:build js

package main

import (
	"image/color"
	"syscall/js"
	"unsafe"
)

// expose publishes globalThis.mrprismViewer. Every method takes numbers and typed arrays, copies
// them and asks globalThis.mrprismWake for a frame. Only site/stage.js calls them.
func (g *game) expose() {
	api := js.Global().Get("Object").New()
	method := func(name string, body func(args []js.Value)) {
		api.Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any {
			g.mu.Lock()
			body(args)
			g.mu.Unlock()
			js.Global().Call("mrprismWake")
			return nil
		}))
	}
	// image(width, height, pixelsWide, pixelsHigh, rgba Uint8Array) sets the photograph, which is
	// opaque. Without arguments there is none.
	method("image", func(a []js.Value) {
		g.overlay, g.contours, g.region = g.replace(g.overlay, nil), nil, region{}
		if len(a) == 0 {
			g.photo = g.replace(g.photo, nil)
			return
		}
		g.photo = g.replace(g.photo, &picture{width: a[0].Float(), height: a[1].Float(),
			pixelsWide: a[2].Int(), pixelsHigh: a[3].Int(), rgba: bytesOf(a[4])})
	})
	// overlay(x, y, width, height, pixelsWide, pixelsHigh, rgba Uint8Array) sets a coloured map,
	// premultiplied. Without arguments there is none.
	method("overlay", func(a []js.Value) {
		var fresh *picture
		if len(a) > 0 {
			fresh = &picture{x: a[0].Float(), y: a[1].Float(), width: a[2].Float(), height: a[3].Float(),
				pixelsWide: a[4].Int(), pixelsHigh: a[5].Int(), rgba: bytesOf(a[6])}
		}
		g.overlay = g.replace(g.overlay, fresh)
	})
	// opacity(0…1) sets that of the overlay.
	method("opacity", func(a []js.Value) { g.opacity = a[0].Float() })
	// contours([{points Float32Array, starts Uint32Array, colour [r, g, b], width, dash}]) sets all
	// contours, bottom first.
	method("contours", func(a []js.Value) {
		list := a[0]
		g.contours = make([]contour, list.Length())
		for i := range g.contours {
			c, rgb := list.Index(i), list.Index(i).Get("colour")
			g.contours[i] = contour{
				points: numbersOf[float32](c.Get("points")), starts: numbersOf[uint32](c.Get("starts")),
				colour: color.NRGBA{uint8(rgb.Index(0).Int()), uint8(rgb.Index(1).Int()), uint8(rgb.Index(2).Int()), 255},
				width:  c.Get("width").Float(), dash: c.Get("dash").Float(),
			}
		}
	})
	// region(x, y, side, active) sets the square. Without arguments there is none.
	method("region", func(a []js.Value) {
		g.region = region{}
		if len(a) > 0 {
			g.region = region{shown: true, x: a[0].Float(), y: a[1].Float(), side: a[2].Float(), active: a[3].Bool()}
		}
	})
	// view(scale, x, y) sets the view.
	method("view", func(a []js.Value) { g.view = view{Scale: a[0].Float(), X: a[1].Float(), Y: a[2].Float()} })
	// stop() ends the program; its canvas stays behind for the caller to remove.
	method("stop", func([]js.Value) { g.stopping = true })
	// frames() counts the frames that were drawn: tests see by it that an unchanged stage draws none.
	api.Set("frames", js.FuncOf(func(js.Value, []js.Value) any { return g.frames }))
	js.Global().Set("mrprismViewer", api)
	js.Global().Call("dispatchEvent", js.Global().Get("Event").New("mrprismviewer"))
}

// bytesOf copies a Uint8Array.
func bytesOf(v js.Value) []byte {
	b := make([]byte, v.Length())
	js.CopyBytesToGo(b, v)
	return b
}

// numbersOf copies a typed array of 32-bit elements. Go's memory in wasm is little-endian as
// theirs.
func numbersOf[T float32 | uint32](v js.Value) []T {
	numbers := make([]T, v.Length())
	view := js.Global().Get("Uint8Array").New(v.Get("buffer"), v.Get("byteOffset"), v.Get("byteLength"))
	js.CopyBytesToGo(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 4*len(numbers)), view)
	return numbers
}
