package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"slices"

	"mrprism/internal/command"
)

// raterColours are the colours of the outlines of raters; they repeat from the thirteenth on.
var raterColours = slices.Concat(structures, []color.RGBA{
	{255, 255, 255, 255}, {255, 120, 80, 255}, {90, 150, 255, 255}, {60, 190, 60, 255}, {220, 90, 220, 255}, {200, 160, 110, 255},
})

func raterColour(m int) color.RGBA { return raterColours[m%len(raterColours)] }

// picture reads the image at the size of the album.
func (g *gathering) picture(l *looked) (*picture, error) {
	img, err := command.ReadImage(l.Image)
	if err != nil {
		return nil, err
	}
	return newPicture(img), nil
}

// draw draws the outlines of all raters on a copy of the picture.
func (g *gathering) draw(bare *picture, l *looked, k int, c *compared) *cell {
	p := bare.copy()
	for m, mark := range l.marks[k] {
		if mark != nil {
			shaded(p.RGBA, whole(p.trace(asMap(mark), l.W, l.H, 0, 0)), resultLine, raterColour(m))
		}
	}
	return &cell{name: c.image, figure: g.figure(&c.disagreement), picture: p.RGBA}
}

// figure says in a few words how far the raters disagree.
func (g *gathering) figure(d *disagreement) string {
	if g.data.Levels {
		return fmt.Sprintf("all of them marked %.0f %% of what anybody marked", 100*d.consensus)
	}
	return fmt.Sprintf("mean Dice %.1f; %s and %s %.1f", 100*d.dice, g.data.Raters[d.a], g.data.Raters[d.b], 100*d.least)
}

// asMap is a mask as a map of probabilities.
func asMap(mask []uint8) []float32 {
	p := make([]float32, len(mask))
	for i, v := range mask {
		p[i] = float32(v)
	}
	return p
}

// copy is the picture with pixels of its own.
func (p *picture) copy() *picture {
	twin := *p
	twin.RGBA = image.NewRGBA(p.Rect)
	draw.Draw(twin.RGBA, p.Rect, p.RGBA, p.Rect.Min, draw.Src)
	return &twin
}

// quality is that of JPEG pictures.
const quality = 80

// embedded is the picture as a JPEG in a data URI.
func embedded(p *image.RGBA) (template.URL, error) {
	var data bytes.Buffer
	if err := jpeg.Encode(&data, p, &jpeg.Options{Quality: quality}); err != nil {
		return "", err
	}
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data.Bytes())), nil
}
