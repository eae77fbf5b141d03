//go:build js

package main

import (
	"image"
	"math"
	"sync"

	"github.com/hajimehoshi/ebiten/v2"
)

// view places the photograph: its point p, in photograph pixels, is drawn at
// (X+p.x·Scale, Y+p.y·Scale) CSS pixels.
type view struct{ Scale, X, Y float64 }

// picture is RGBA pixels laid over a rectangle of the photograph.
type picture struct {
	x, y, width, height float64 // photograph pixels
	pixelsWide          int
	pixelsHigh          int
	rgba                []byte // premultiplied, pixelsWide × pixelsHigh × 4; nil once uploaded
	image               *ebiten.Image
}

// game has the pictures on the stage. Calls from JavaScript change it under the lock and ask for a
// frame. Update uploads pictures, and Draw draws them.
type game struct {
	mu       sync.Mutex
	photo    *picture
	overlay  *picture
	opacity  float64
	view     view
	retired  []*ebiten.Image // replaced images, which the next update frees
	stopping bool
	density  float64 // device pixels a CSS pixel
	frames   int
}

// Layout gives the screen one pixel per device pixel.
func (g *game) Layout(outsideWidth, outsideHeight int) (int, int) {
	w, h := g.LayoutF(float64(outsideWidth), float64(outsideHeight))
	return int(w), int(h)
}

// LayoutF is Layout for fractional sizes. It takes CSS pixels and returns device pixels.
func (g *game) LayoutF(outsideWidth, outsideHeight float64) (float64, float64) {
	g.density = ebiten.Monitor().DeviceScaleFactor()
	return max(1, math.Floor(outsideWidth*g.density)), max(1, math.Floor(outsideHeight*g.density))
}

// Update uploads new pictures and frees replaced ones.
func (g *game) Update() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return ebiten.Termination
	}
	for _, image := range g.retired {
		image.Deallocate()
	}
	g.retired = nil
	upload(g.photo)
	upload(g.overlay)
	return nil
}

func upload(p *picture) {
	if p == nil || p.rgba == nil {
		return
	}
	p.image = ebiten.NewImageWithOptions(image.Rect(0, 0, p.pixelsWide, p.pixelsHigh), &ebiten.NewImageOptions{Unmanaged: true})
	p.image.WritePixels(p.rgba)
	p.rgba = nil
}

// Draw draws the photograph, and the map over it.
func (g *game) Draw(screen *ebiten.Image) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frames++
	g.drawPicture(screen, g.photo, 1)
	g.drawPicture(screen, g.overlay, g.opacity)
}

func (g *game) drawPicture(stage *ebiten.Image, p *picture, opacity float64) {
	if p == nil || p.image == nil || opacity <= 0 {
		return
	}
	scale := g.view.Scale * g.density
	perPixel := p.width / float64(p.pixelsWide) * scale // device pixels a picture pixel
	options := &ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	if p == g.photo && perPixel >= 6 {
		options.Filter = ebiten.FilterNearest // show the pixels as they are
	}
	options.GeoM.Scale(perPixel, p.height/float64(p.pixelsHigh)*scale)
	options.GeoM.Translate(g.view.X*g.density+p.x*scale, g.view.Y*g.density+p.y*scale)
	options.ColorScale.ScaleAlpha(float32(opacity))
	stage.DrawImage(p.image, options)
}
