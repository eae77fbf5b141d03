package masks

import (
	"errors"
	"fmt"
	"slices"

	"mrprism/internal/data/contour"
	"mrprism/internal/files/dicom"
)

// capture is what a reader saw of the picture as a DICOM Secondary Capture.
func capture(d *Drawing) ([]byte, error) {
	c := dicom.Capture{Derived: d.derived(d.Picture.Header.(*dicom.Header)), About: "MrPrism: masks drawn on the image, " + d.By}
	switch {
	case d.Shown != nil:
		c.W, c.H, c.RGB = d.Shown.W, d.Shown.H, d.Shown.Pix
	case d.Picture.Pix != nil:
		c.W, c.H, c.RGB = d.Picture.W, d.Picture.H, d.outlined()
	default:
		return nil, errors.New("the pixels of the picture are no longer in memory; save its outlines as SVG")
	}
	return c.Encode()
}

// outlined is the picture with the borders of the masks, in the colours of the page.
func (d *Drawing) outlined() []uint8 {
	w, h := d.Picture.W, d.Picture.H
	pix, wide := slices.Clone(d.Picture.Pix), max(1, min(w, h)/500)
	for i, s := range d.Structures {
		var colour [3]uint8
		fmt.Sscanf(contour.Colour(i), "#%02x%02x%02x", &colour[0], &colour[1], &colour[2])
		inside := func(x, y int) bool { return x >= 0 && y >= 0 && x < w && y < h && s.Levels[y*w+x] >= 128 }
		for at := range s.Levels {
			if x, y := at%w, at/w; inside(x, y) && !(inside(x-wide, y) && inside(x+wide, y) && inside(x, y-wide) && inside(x, y+wide)) {
				copy(pix[3*at:], colour[:])
			}
		}
	}
	return pix
}

// Document is a PDF about the picture as a DICOM Encapsulated PDF.
func Document(d *Drawing, pdf []byte) ([]byte, error) {
	if err := checkReference(d.Picture); err != nil {
		return nil, err
	}
	one := dicom.Document{Derived: d.derived(d.Picture.Header.(*dicom.Header)), Title: "MrPrism report, research use", PDF: pdf}
	return one.Encode()
}
