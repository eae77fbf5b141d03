package dicom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"mrprism/internal/files/dicom/elements"
)

// Forms of a Capture and of a Document: Secondary Capture Image Storage and Encapsulated PDF
// Storage.
var (
	captureForm  = form{"1.2.840.10008.5.1.4.1.1.7", "OT", "902"}
	documentForm = form{"1.2.840.10008.5.1.4.1.1.104.1", "DOC", "903"}
)

// Capture is a picture of what a reader saw of a frame, as a DICOM Secondary Capture.
type Capture struct {
	Derived
	W, H  int
	RGB   []uint8 // (H, W, 3)
	About string  // what the picture shows
}

// Encode writes the file. A band below the picture says that this is for research. Source: PS3.3
// A.8.1 and C.8.6.
func (c *Capture) Encode() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.W < 1 || c.H < 1 || len(c.RGB) != 3*c.W*c.H {
		return nil, errors.New("the picture has another size than it says; save it as a PNG")
	}
	w, h, pixels := c.banded()
	if w > math.MaxUint16 || h > math.MaxUint16 || len(pixels) > longest {
		return nil, errors.New("the picture is larger than DICOM allows; save it as a PNG")
	}
	source := c.frame(c.Source)
	source.Sequence(0x0040a170, sourceImage.item())
	return c.file(captureForm, pixels, func(e *elements.Set, _ [3]string, pixels []byte) {
		e.Text(0x00080008, "CS", "DERIVED", "SECONDARY")
		e.Text(0x00080064, "CS", "WSD")
		e.Text(0x00082111, "ST", c.label(c.About+"; research use", longestText))
		e.Sequence(0x00082112, source)
		e.Text(0x00200020, "CS", "")
		e.Text(0x00200060, "CS", map[string]string{"right": "R", "left": "L"}[c.Source.eye])
		e.Words(0x00280002, 3)
		e.Text(0x00280004, "CS", "RGB")
		for _, v := range [][2]int{{0x00280006, 0}, {0x00280010, h}, {0x00280011, w}, {0x00280100, 8}, {0x00280101, 8}, {0x00280102, 7}, {0x00280103, 0}} {
			e.Words(uint32(v[0]), v[1])
		}
		e.Text(0x00280301, "CS", "YES")
		c.Source.compression(e)
		e.Bytes(0x7fe00010, "OB", pixels)
	}), nil
}

// glyphs are letters of 5 × 7 pixels, a row a byte.
var glyphs = map[rune][7]uint8{
	'R': {30, 17, 17, 30, 20, 18, 17}, 'E': {31, 16, 16, 30, 16, 16, 31}, 'S': {15, 16, 16, 14, 1, 1, 30}, 'A': {14, 17, 17, 31, 17, 17, 17},
	'C': {15, 16, 16, 16, 16, 16, 15}, 'H': {17, 17, 17, 31, 17, 17, 17}, 'U': {17, 17, 17, 17, 17, 17, 14},
}

// banded is the picture over a black band with white letters, which hides none of it.
func (c *Capture) banded() (w, h int, pixels []byte) {
	const text, step, high = "RESEARCH USE", 6, 11 // pixels of a letter, and of the band
	scale := max(1, min(c.W, c.H)/(20*high))
	w, h = max(c.W, (len(text)*step+2)*scale), c.H+high*scale
	pixels = make([]byte, 3*w*h)
	for y := range c.H {
		copy(pixels[3*y*w:], c.RGB[3*y*c.W:][:3*c.W])
	}
	for at := range 7 * scale * len(text) * step * scale {
		x, y := at%(len(text)*step*scale), at/(len(text)*step*scale)
		if column := x / scale % step; column < 5 && glyphs[rune(text[x/scale/step])][y/scale]>>(4-column)&1 == 1 {
			copy(pixels[3*((c.H+2*scale+y)*w+2*scale+x):], []byte{255, 255, 255})
		}
	}
	return w, h, pixels
}

// Document is a PDF about a frame, as a DICOM Encapsulated PDF.
type Document struct {
	Derived
	Title string
	PDF   []byte
}

// Encode writes the file. Source: PS3.3 A.45.1, C.24.1 and C.24.2.
func (d *Document) Encode() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(d.PDF, []byte("%PDF-")) || len(d.PDF) > longest {
		return nil, errors.New("the report is no PDF; print it instead")
	}
	return d.file(documentForm, d.PDF, func(e *elements.Set, _ [3]string, pdf []byte) {
		e.Text(0x0008002a, "DT", "")
		e.Text(0x00080064, "CS", "WSD")
		e.Text(0x00280301, "CS", "YES")
		e.Sequence(0x0040a043)
		e.Text(0x00420010, "ST", d.label(d.Title, longestText))
		e.Bytes(0x00420011, "OB", pdf)
		e.Text(0x00420012, "LO", "application/pdf")
		e.Sequence(0x00420013, d.instance(d.Source))
		e.Bytes(0x00420015, "UL", binary.LittleEndian.AppendUint32(nil, uint32(len(pdf))))
	}), nil
}
