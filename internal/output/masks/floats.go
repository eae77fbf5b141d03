//go:build !js

package masks

import (
	"encoding/hex"
	"fmt"
	"slices"

	"mrprism/internal/data/contour"
	"mrprism/internal/files/npy"
	"mrprism/internal/files/tiff"
)

// Floats are the formats that the page does without, and is smaller.
var Floats = []Format{
	{Name: "npy", Ending: ".npy", About: "probability, float32, for NumPy", write: array},
	{Name: "tiff-float", Ending: "_float.tif", About: "probability, float32", write: floatPages},
}

func array(d *Drawing) ([]byte, error) {
	if len(d.Structures) != 1 {
		return nil, fmt.Errorf("an .npy holds one structure, not %d; save them one by one", len(d.Structures))
	}
	return npy.Encode(d.Picture.H, d.Picture.W, d.Structures[0].values()), nil
}

func floatPages(d *Drawing) ([]byte, error) {
	var all []tiff.Page
	for _, s := range d.Structures {
		all = append(all, tiff.Page{Name: s.Name, About: d.comment(s, false), Values: s.values()})
	}
	return tiff.Encode(d.Picture.W, d.Picture.H, d.Picture.Spacing, all)
}

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
