//go:build !js

package masks

import (
	"encoding/hex"
	"slices"

	"mrprism/internal/data/contour"
)

// outlined is the picture with the borders of the masks, in the colours of the page, which draws a
// picture of its own.
func (d *Drawing) outlined() []uint8 {
	if d.Picture.Pix == nil {
		return nil
	}
	w, h := d.Picture.W, d.Picture.H
	pix, wide := slices.Clone(d.Picture.Pix), max(1, min(w, h)/500)
	for i, s := range d.Structures {
		colour, _ := hex.DecodeString(contour.Colour(i)[1:])
		inside := func(x, y int) bool { return x >= 0 && y >= 0 && x < w && y < h && s.Levels[y*w+x] >= 128 }
		for at := range s.Levels {
			if x, y := at%w, at/w; inside(x, y) && !(inside(x-wide, y) && inside(x+wide, y) && inside(x, y-wide) && inside(x, y+wide)) {
				copy(pix[3*at:], colour)
			}
		}
	}
	return pix
}
