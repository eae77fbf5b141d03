//go:build js

// Command viewer is the image stage of the page: Ebitengine draws photograph, map, contours and
// region of interest on one WebGL2 canvas. It has no input of its own: site/stage.js turns pointer,
// wheel and keys into a view (scale and origin) and calls globalThis.mrprismViewer. It draws only
// after a call.
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
