//go:build js

// Command viewer draws the photograph and the map over it on the page's stage, with Ebitengine on
// WebGL2. It has no input of its own: site/draw/stage.js turns pointer, wheel and keys into a view
// (scale and origin), calls globalThis.mrprismViewer, and draws lines on a canvas above. viewer
// draws only after a call.
package main

import (
	"os"
	"syscall/js"

	"github.com/hajimehoshi/ebiten/v2"
)

func main() {
	g := &game{}
	g.expose()
	ebiten.SetTPS(ebiten.SyncWithFPS)
	ebiten.SetScreenClearedEveryFrame(true)
	err := ebiten.RunGameWithOptions(g, &ebiten.RunGameOptions{InitUnfocused: true, ScreenTransparent: true})
	js.Global().Delete("mrprismViewer")
	if err != nil {
		os.Stderr.WriteString("viewer: " + err.Error() + "\n")
		os.Exit(1)
	}
}

// expose publishes globalThis.mrprismViewer. Every method takes numbers and pixels, copies them and
// asks globalThis.mrprismWake for a frame. Only site/draw/stage.js calls them.
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
	// image(x, y, width, height, pixelsWide, pixelsHigh, rgba Uint8Array) sets the photograph,
	// which is opaque. overlay, with the same arguments, sets a coloured map, premultiplied. Calls
	// without arguments remove the picture.
	method("image", func(a []js.Value) { g.replace(&g.photo, a) })
	method("overlay", func(a []js.Value) { g.replace(&g.overlay, a) })
	// opacity(0…1) sets the overlay's opacity.
	method("opacity", func(a []js.Value) { g.opacity = a[0].Float() })
	// view(scale, x, y) sets the view.
	method("view", func(a []js.Value) { g.view = view{Scale: a[0].Float(), X: a[1].Float(), Y: a[2].Float()} })
	// stop() ends the program; its canvas stays behind for the caller to remove.
	method("stop", func([]js.Value) { g.stopping = true })
	// frames() counts drawn frames, by which tests see that an unchanged stage draws none.
	api.Set("frames", js.FuncOf(func(js.Value, []js.Value) any { return g.frames }))
	js.Global().Set("mrprismViewer", api)
	js.Global().Call("dispatchEvent", js.Global().Get("Event").New("mrprismviewer"))
}

// replace replaces a picture by the picture of a call's arguments, and retires the memory of the
// old one.
func (g *game) replace(place **picture, a []js.Value) {
	if old := *place; old != nil && old.image != nil {
		g.retired = append(g.retired, old.image)
	}
	*place = nil
	if len(a) == 0 {
		return
	}
	p := &picture{x: a[0].Float(), y: a[1].Float(), width: a[2].Float(), height: a[3].Float(), pixelsWide: a[4].Int(), pixelsHigh: a[5].Int()}
	p.rgba = make([]byte, a[6].Length())
	js.CopyBytesToGo(p.rgba, a[6])
	*place = p
}
