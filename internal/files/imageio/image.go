// Package imageio reads photographs, resamples regions of them for the network and writes
// probability maps.
//
// The desktop programs and the page run this Go code, and a file gives equal pixels in both. The
// standard library decodes PNG and JPEG, golang.org/x/image BMP and WebP, and packages beside this
// one TIFF, DICOM and NIfTI. Before that, this package reads the header: it limits the size before
// anything is allocated, and it refuses a file that is cut short, which would otherwise become a
// half-grey picture.
//
// A file becomes 8-bit RGB at the size and orientation in which viewers display it. Grey becomes
// three equal channels. For grey of other than 8 bits, raster.Range chooses black and white from
// the file and the values. For colours of 16 bits, the eight highest of the bits that the picture
// uses are kept (8, 10, 12, 14 or 16: depth). Palettes are looked up. Transparency is composited
// over black, like the black surround of a fundus photograph and of a scan. CMYK is converted.
// Colour profiles and gamma chunks are ignored.
package imageio

import (
	"fmt"
	"image"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

// Image is a decoded picture, 8-bit RGB.
type Image struct {
	W, H        int
	Pix         []uint8 // (H, W, 3), values 0..255
	Orientation int     // the EXIF orientation, 1..8, that Decode has applied; 1 if the file has none
	Bits        int     // of 16-bit samples, how many bits the picture uses; 0 for other samples
	Format      string  // "png", "jpeg", "tiff", "bmp", "webp", "dicom" or "nifti"

	Spacing [2]float64 // mm a pixel, across and down as displayed, as the file says; 0 if unknown
	Body    bool       // of a TIFF: Spacing is that of what is pictured, and not of a print
	Slice   int        // which picture of the file this is, from 1
	Slices  int        // pictures in the file: pages, frames or slices; 1 for most formats

	// Cut is the range of values that the file wants to be shown, if it leaves out many values.
	Cut raster.Span

	// Turn counts the quarter turns clockwise that Turned has made, 0 to 3.
	Turn int

	// Header is the part of the file that masks of this picture take over: a *dicom.Header or a
	// *nifti.Geometry, or nil for other formats.
	Header any
}

// PixelSize is the size of a pixel in what is pictured, mm across and down. It is 0 if the file
// does not say, or says a resolution for printing.
func (m *Image) PixelSize() [2]float64 {
	if m.Body || m.Format == "dicom" || m.Format == "nifti" {
		return m.Spacing
	}
	return [2]float64{}
}

// DecodeMask is Decode of a mask. It refuses transparent pixels: some programs draw a mask in colours
// and others in opacity, and over black the latter would be empty.
func DecodeMask(name string, data []byte) (*Image, error) { return decode(name, data, 0, true) }

// Decode is DecodeSlice of the picture that the format prefers.
func Decode(name string, data []byte) (*Image, error) { return DecodeSlice(name, data, 0) }

// DecodeSlice reads a picture of a file that may hold several: slice counts from 1. 0 is the first
// page of a TIFF, and the middle of a volume or of a DICOM file's frames. The content decides the
// format; name is for messages only. Every error is an *Error, which names the file and the next
// step and wraps ErrNotImage, ErrTooLarge, ErrDamaged or ErrUnsupported.
func DecodeSlice(name string, data []byte, slice int) (*Image, error) {
	return decode(name, data, slice, false)
}

func decode(name string, data []byte, slice int, opaque bool) (m *Image, err error) {
	header, err := HeaderSlice(name, data, slice)
	if err != nil {
		return nil, err
	}
	return header.decode(name, opaque)
}

// decode makes the image of a header.
func (header *Info) decode(name string, opaque bool) (m *Image, err error) {
	// A panic in a reader must not end the program.
	defer func() {
		if fault := recover(); fault != nil {
			m, err = nil, damaged(name, header.Format, "%v", fault)
		}
	}()
	decoded, err := header.Decode()
	if err != nil {
		return nil, decodeError(name, header.Format, err)
	}
	if b := decoded.Bounds(); b.Dx() != header.storedW || b.Dy() != header.storedH {
		return nil, damaged(name, header.Format, "its size changes within the file")
	}
	if of, may := decoded.(interface{ Opaque() bool }); opaque && may && !of.Opaque() {
		return nil, &Error{Name: name, Problem: "this mask has transparent pixels", Advice: "save it without transparency: 255 inside, 0 outside", Kind: ErrUnsupported}
	}
	return displayed(decoded, header), nil
}

// Convert makes an Image of a picture that another decoder has read. It may overwrite the picture.
func Convert(src image.Image) *Image {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	return displayed(src, &Info{Frame: raster.Frame{W: w, H: h, Orientation: 1, Slice: 1, Slices: 1}, storedW: w, storedH: h})
}

// displayed converts to RGB in the displayed orientation. It compacts decoded pixels of four bytes
// and more in place and allocates nothing for them.
func displayed(src image.Image, header *Info) *Image {
	w, h := header.storedW, header.storedH
	used, tones := tonesOf(src, header) // before the pixels are overwritten
	m := &Image{
		W: header.W, H: header.H, Orientation: header.Orientation, Bits: used, Format: header.Format,
		Spacing: header.Spacing, Body: header.Body, Slice: header.Slice, Slices: header.Slices, Header: header.Header,
	}
	if header.Cut != nil {
		m.Cut = *header.Cut
	}
	row, wide := rows(src, tones)
	if header.Orientation == 1 && wide != nil {
		m.Pix = wide[:3*w*h]
	} else {
		m.Pix = make([]uint8, 3*w*h)
	}
	if header.Orientation == 1 {
		for y := range h {
			pulse.Beat()
			row(y, m.Pix[3*w*y:3*w*(y+1)])
		}
		return m
	}
	line := make([]uint8, 3*w)
	base, dx, dy := orient(header.Orientation, w, h)
	for y := range h {
		pulse.Beat()
		row(y, line)
		for x := range w {
			copy(m.Pix[3*(base+x*dx+y*dy):], line[3*x:3*x+3])
		}
	}
	return m
}

// orient says where the stored pixel (x, y) of a w×h picture is displayed: at pixel index base +
// x·dx + y·dy. Source: EXIF 2.32, tag 274; orientations 5 to 8 swap width and height.
func orient(orientation, w, h int) (base, dx, dy int) {
	o := [...][3]int{
		2: {w - 1, -1, w}, 3: {w*h - 1, -1, -w}, 4: {w * (h - 1), 1, -w},
		5: {0, h, 1}, 6: {h - 1, h, -1}, 7: {h*w - 1, -h, -1}, 8: {h * (w - 1), -h, 1},
	}[orientation]
	return o[0], o[1], o[2]
}

// Stored brings levels (H, W) of the displayed picture into the order of the file's pixels.
func (m *Image) Stored(levels []uint8) []uint8 { return Stored(m, levels) }

// Stored is the method of that name for values of any kind.
func Stored[T any](m *Image, levels []T) []T {
	if m.Orientation <= 1 {
		return levels
	}
	w, h := m.W, m.H
	if m.Orientation >= 5 {
		w, h = h, w
	}
	out := make([]T, len(levels))
	base, dx, dy := orient(m.Orientation, w, h)
	for y := range h {
		for x := range w {
			out[y*w+x] = levels[base+x*dx+y*dy]
		}
	}
	return out
}

// rows returns a function that writes row y as RGB; tones are those of 16-bit samples. If a pixel
// takes at least four bytes, wide is the picture's own memory: a caller that writes rows in order
// into it never overwrites what is still to be read.
func rows(src image.Image, tones *tones) (row func(y int, dst []uint8), wide []uint8) {
	b := src.Bounds()
	w := b.Dx()
	switch m := src.(type) {
	case *image.Gray:
		return func(y int, dst []uint8) {
			for x, v := range m.Pix[y*m.Stride:][:w] {
				dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
			}
		}, nil
	case *image.Gray16:
		return func(y int, dst []uint8) {
			for x := range w {
				v := uint8(tones[sample(m.Pix[y*m.Stride+2*x:])] >> 8)
				dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
			}
		}, nil
	case *image.RGBA64:
		return func(y int, dst []uint8) {
			for x := range w {
				p := m.Pix[y*m.Stride+8*x:]
				for c := range 3 {
					dst[3*x+c] = uint8(tones[sample(p[2*c:])] >> 8)
				}
			}
		}, m.Pix
	case *image.NRGBA64:
		return func(y int, dst []uint8) {
			for x := range w {
				p := m.Pix[y*m.Stride+8*x:]
				a := sample(p[6:])
				for c := range 3 {
					dst[3*x+c] = uint8(uint32(tones[sample(p[2*c:])]) * a / 0xffff >> 8)
				}
			}
		}, m.Pix
	case *image.Paletted:
		palette := make([][3]uint8, len(m.Palette))
		for i, c := range m.Palette {
			r, g, b, _ := c.RGBA()
			palette[i] = [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
		}
		return func(y int, dst []uint8) {
			for x, v := range m.Pix[y*m.Stride:][:w] {
				copy(dst[3*x:], palette[v][:])
			}
		}, nil
	case *lossy:
		return m.row, nil
	case *image.YCbCr:
		return func(y int, dst []uint8) { rowOfYCbCr(m, y, dst) }, nil
	case *image.CMYK:
		wide = m.Pix
	case *image.RGBA:
		return func(y int, dst []uint8) {
			for x := range w {
				copy(dst[3*x:], m.Pix[y*m.Stride+4*x:][:3])
			}
		}, m.Pix
	case *image.NRGBA:
		wide = m.Pix
	}
	colours := src.(image.RGBA64Image) // as all of package image are; its colours are times alpha: over black
	return func(y int, dst []uint8) {
		for x := range w {
			c := colours.RGBA64At(b.Min.X+x, b.Min.Y+y)
			dst[3*x], dst[3*x+1], dst[3*x+2] = uint8(c.R>>8), uint8(c.G>>8), uint8(c.B>>8)
		}
	}, wide
}

// rowOfYCbCr is row y as color.YCbCrToRGB makes it. Pixels that share chroma convert it once.
func rowOfYCbCr(m *image.YCbCr, y int, dst []uint8) {
	share := 1
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
		share = 2
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		share = 4
	}
	at, left := m.COffset(m.Rect.Min.X, m.Rect.Min.Y+y)-1, 0
	r, g, b := int32(0), int32(0), int32(0)
	for x, l := range m.Y[y*m.YStride:][:m.Rect.Dx()] {
		if left--; left < 0 {
			at++
			cb, cr := int32(m.Cb[at])-128, int32(m.Cr[at])-128
			left, r, g, b = share-1-(m.Rect.Min.X+x)%share, 91881*cr, -22554*cb-46802*cr, 116130*cb
		}
		grey, to := int32(l)*0x10101, dst[3*x:][:3]
		to[0], to[1], to[2] = level(grey+r), level(grey+g), level(grey+b)
	}
}

// level is the whole part of a value in 65,536ths, limited to 0..255.
func level(v int32) uint8 {
	if uint32(v) < 1<<24 {
		return uint8(v >> 16)
	}
	return uint8(^(v >> 31))
}

// scale is one channel with alpha 0..255 over black, rounded as color.NRGBA rounds.
func scale(v uint8, alpha uint32) uint8 {
	return uint8(uint32(v) * 0x101 * (alpha * 0x101) / 0xffff >> 8)
}

// Grey reports whether the three channels of every pixel are equal.
func (m *Image) Grey() bool {
	for i := 0; i < len(m.Pix); i += 3 {
		if m.Pix[i] != m.Pix[i+1] || m.Pix[i] != m.Pix[i+2] {
			return false
		}
	}
	return true
}

// Levels are the probabilities of a map (h, w) in 8 bits: 255 p rounded; one half becomes 127, and
// 128 or more means above one half. A value outside 0..1 is an error: NaN must never become a mask.
func Levels(w, h int, p []float32) ([]uint8, error) {
	if w <= 0 || h <= 0 || len(p) != w*h {
		panic(fmt.Sprintf("imageio: Levels: %d values for %d×%d", len(p), w, h))
	}
	levels := make([]uint8, len(p))
	for y := range h {
		pulse.Beat()
		row := levels[y*w:][:w]
		for x, v := range p[y*w:][:w] {
			switch {
			case v == 0: // most of a large photograph
			case v > 0 && v <= 1:
				up := float64(v)*255 - 0.5
				if row[x] = uint8(int(up)); float64(row[x]) < up {
					row[x]++
				}
			default:
				return nil, fmt.Errorf("probability map holds %v at x %d, y %d; not written", v, x, y)
			}
		}
	}
	return levels, nil
}
