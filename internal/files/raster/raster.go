// Package raster has types that readers of TIFF, DICOM and NIfTI files share with package imageio.
package raster

import (
	"errors"
	"fmt"
	"image"
)

// Frame is a picture in a file: its header, and a function that decodes it.
type Frame struct {
	W, H        int        // pixels, as stored
	Orientation int        // EXIF, 1..8
	Spacing     [2]float64 // mm a pixel, across and down as stored; 0 if unknown
	Body        bool       // of a TIFF: Spacing is that of what is pictured, and not of a print
	Slice       int        // the picture's number in the file, from 1
	Slices      int        // pictures in the file
	Step        float64    // of a TIFF: mm from a picture to the next one; 0 if unknown
	Memory      int64      // bytes, the peak of Decode, the file not counted
	Full        bool       // 16-bit samples use all bits
	Inverted    bool       // low 16-bit samples are white
	Cut         *Span      // Decode sets it: the file's own range, if it leaves out much; nil for formats without one
	Least       int64      // bytes, the smallest file that can hold the picture
	Missing     string     // what the file lacks of the picture; empty: nothing
	Apart       string     // why the pictures are no slices of a volume, as "it is in colour"; empty: they may be
	Header      any        // the part of the header that the format's writer needs; may be nil

	// Decode makes the picture. The caller may overwrite it.
	Decode func() (image.Image, error)
}

// JPEG decodes a JPEG within a file, whose size must be w×h.
type JPEG interface {
	// Memory is the peak of Decode in bytes, from the header; 0 if Decode refuses the header.
	Memory(data []byte, w, h int) int64
	// Decode refuses hostile pictures before it allocates.
	Decode(data []byte, w, h int) (image.Image, error)
}

// Unsupported is the error of a sound file that MrPrism does not read. It says of what kind the
// file is, for example "compression ZSTD".
type Unsupported string

func (u Unsupported) Error() string { return string(u) }

// ErrShort is the error of a file that ends too early.
var ErrShort = errors.New("the file is cut short")

// Refused is the error of a sound file that MrPrism does not read, with what to do.
type Refused struct{ Problem, Advice string }

func (r Refused) Error() string { return r.Problem }

// NoSlice is the error if a file lacks the wanted picture. Its value is how many it has.
type NoSlice int

func (n NoSlice) Error() string { return fmt.Sprintf("the file has %d pictures", int(n)) }

// Length reports whether a pixel can be so long in mm. No pixel of a body is longer than 200 mm.
func Length(mm float64) bool { return mm > 1e-7 && mm < 200 }

// Level is a value as one of 256 levels: low and less become 0, high and more 255, NaN 0.
func Level(v, low, high float64) uint8 {
	switch {
	case !(v > low): // NaN too
		return 0
	case v >= high:
		return 255
	}
	return uint8(255*((v-low)/(high-low)) + 0.5)
}

// Grey makes a picture of values (h, w) by Level. If inverted, low becomes white; NaN stays black.
func Grey(values []float32, w, h int, low, high float64, inverted bool) image.Image {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i, v := range values {
		m.Pix[i] = Level(float64(v), low, high)
		if inverted && v == v {
			m.Pix[i] = 255 - m.Pix[i]
		}
	}
	return m
}
