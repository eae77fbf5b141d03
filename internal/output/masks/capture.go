package masks

import (
	"errors"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
)

// capture is what a reader saw of the picture as a DICOM Secondary Capture.
func capture(d *Drawing) ([]byte, error) {
	shown := d.Shown
	if shown == nil {
		shown = &imageio.Image{W: d.Picture.W, H: d.Picture.H, Pix: d.outlined()}
	}
	if shown.Pix == nil {
		return nil, errors.New("the pixels of the picture are no longer in memory; save its outlines as SVG")
	}
	c := dicom.Capture{Derived: d.derived(d.Picture.Header.(*dicom.Header)), W: shown.W, H: shown.H, RGB: shown.Pix, About: "MrPrism: masks drawn on the image, " + d.By}
	return c.Encode()
}

// Document is a PDF about the picture as a DICOM Encapsulated PDF.
func Document(d *Drawing, pdf []byte) ([]byte, error) {
	if err := checkReference(d.Picture); err != nil {
		return nil, err
	}
	one := dicom.Document{Derived: d.derived(d.Picture.Header.(*dicom.Header)), Title: "MrPrism report, research use", PDF: pdf}
	return one.Encode()
}
