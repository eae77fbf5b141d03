//go:build js

package main

import (
	"encoding/binary"
	"image/color"
	"math"
	"syscall/js"
)

// expose publishes globalThis.mrprismViewer. Every method takes numbers and typed arrays, copies what it is given and asks
// globalThis.mrprismWake for a frame. site/stage.js is the only caller.
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
	// image(width, height, pixelsWide, pixelsHigh, rgba Uint8Array): the photograph, opaque; without arguments: none.
	method("image", func(a []js.Value) {
		g.overlay, g.contours, g.region = g.replace(g.overlay, nil), nil, region{}
		if len(a) == 0 {
			g.photo = g.replace(g.photo, nil)
			return
		}
		g.photo = g.replace(g.photo, &picture{width: a[0].Float(), height: a[1].Float(),
			pixelsWide: a[2].Int(), pixelsHigh: a[3].Int(), rgba: bytesOf(a[4])})
	})
	// overlay(x, y, width, height, pixelsWide, pixelsHigh, rgba Uint8Array): a coloured map, premultiplied; without arguments: none.
	method("overlay", func(a []js.Value) {
		var fresh *picture
		if len(a) > 0 {
			fresh = &picture{x: a[0].Float(), y: a[1].Float(), width: a[2].Float(), height: a[3].Float(),
				pixelsWide: a[4].Int(), pixelsHigh: a[5].Int(), rgba: bytesOf(a[6])}
		}
		g.overlay = g.replace(g.overlay, fresh)
	})
	// opacity(0…1) of the overlay.
	method("opacity", func(a []js.Value) { g.opacity = a[0].Float() })
	// contours([{points Float32Array, starts Uint32Array, colour [r, g, b], width, dash}]): all contours, bottom first.
	method("contours", func(a []js.Value) {
		list := a[0]
		g.contours = make([]contour, list.Length())
		for i := range g.contours {
			c, rgb := list.Index(i), list.Index(i).Get("colour")
			g.contours[i] = contour{
				points: floatsOf(c.Get("points")), starts: wordsOf(c.Get("starts")),
				colour: color.NRGBA{uint8(rgb.Index(0).Int()), uint8(rgb.Index(1).Int()), uint8(rgb.Index(2).Int()), 255},
				width:  c.Get("width").Float(), dash: c.Get("dash").Float(),
			}
		}
	})
	// region(x, y, side, active): the square; without arguments: none.
	method("region", func(a []js.Value) {
		g.region = region{}
		if len(a) > 0 {
			g.region = region{shown: true, x: a[0].Float(), y: a[1].Float(), side: a[2].Float(), active: a[3].Bool()}
		}
	})
	// view(scale, x, y): see type view.
	method("view", func(a []js.Value) { g.view = view{Scale: a[0].Float(), X: a[1].Float(), Y: a[2].Float()} })
	// stop() ends the program; its canvas stays behind for the caller to remove.
	method("stop", func([]js.Value) { g.stopping = true })
	// frames() is how many frames were drawn: tests assert that an unchanged stage draws none.
	api.Set("frames", js.FuncOf(func(js.Value, []js.Value) any { return g.frames }))
	js.Global().Set("mrprismViewer", api)
	js.Global().Call("dispatchEvent", js.Global().Get("Event").New("mrprismviewer"))
}

func (g *game) withdraw() { js.Global().Delete("mrprismViewer") }

func bytesOf(v js.Value) []byte {
	b := make([]byte, v.Get("byteLength").Int())
	js.CopyBytesToGo(b, v)
	return b
}

// wordsOf copies the 32-bit words of a typed array; wasm is little-endian.
func wordsOf(v js.Value) []uint32 {
	view := js.Global().Get("Uint8Array").New(v.Get("buffer"), v.Get("byteOffset"), v.Get("byteLength"))
	raw := bytesOf(view)
	words := make([]uint32, len(raw)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return words
}

func floatsOf(v js.Value) []float32 {
	words := wordsOf(v)
	floats := make([]float32, len(words))
	for i, w := range words {
		floats[i] = math.Float32frombits(w)
	}
	return floats
}
