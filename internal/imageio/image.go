// Package imageio reads photographs, resamples regions of them for the network and writes probability maps.
//
// The same Go code runs natively and in the page, so that one file gives the same pixels everywhere. Decoding is the standard
// library's, behind our own reading of the header: sizes are capped before anything is allocated, and a file that is cut short
// is an error, never a half-grey picture.
//
// What a file becomes: 8-bit RGB at the size and orientation in which it is displayed. Grey becomes three equal channels, 16-bit
// samples keep the eight highest of the bits that the picture uses (8, 10, 12, 14 or 16: depth), palettes are looked up, transparency is composited over black (the surround of a fundus
// photograph and of a scan is black), CMYK is converted. Colour profiles and gamma chunks are ignored.
package imageio

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/bits"
)

// Image is a decoded picture, 8-bit RGB.
type Image struct {
	W, H        int
	Pix         []uint8 // (H, W, 3), values 0..255
	Orientation int     // the EXIF orientation, 1..8, that has been applied; 1 where the file has none
	Bits        int     // of 16-bit samples, how many the picture uses (depth), all but the highest 8 of which are dropped; 0 for other samples
	Format      string  // "png" or "jpeg"
}

// Decode reads a PNG or JPEG. The format is told by the content; name serves messages only. Every error is an *Error that names
// the file and the next step and wraps one of ErrNotImage, ErrTooLarge, ErrDamaged and ErrUnsupported.
func Decode(name string, data []byte) (*Image, error) {
	header, err := Header(name, data)
	if err != nil {
		return nil, err
	}
	var decoded image.Image
	if header.Format == "png" {
		decoded, err = png.Decode(bytes.NewReader(data))
	} else {
		decoded, err = jpeg.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return nil, decodeError(name, header.Format, err)
	}
	if b := decoded.Bounds(); b.Dx() != header.storedW || b.Dy() != header.storedH {
		return nil, damaged(name, header.Format, "its size changes within the file")
	}
	used := depth(decoded) // before the pixels are written over
	return &Image{
		W: header.W, H: header.H, Pix: displayed(decoded, header, used),
		Orientation: header.Orientation, Bits: used, Format: header.Format,
	}, nil
}

// Convert makes an Image of a picture that another decoder has read, which it may overwrite.
func Convert(src image.Image) *Image {
	b, used := src.Bounds(), depth(src)
	return &Image{W: b.Dx(), H: b.Dy(), Orientation: 1, Bits: used, Pix: displayed(src, &Info{Orientation: 1, storedW: b.Dx(), storedH: b.Dy()}, used)}
}

// displayed converts to RGB in the displayed orientation. Decoded pixels of four bytes and more are compacted in place, so that
// nothing further is allocated for them.
func displayed(src image.Image, header *Info, used int) []uint8 {
	w, h := header.storedW, header.storedH
	row, wide := rows(src, used)
	size := 3 * w * h
	if header.Orientation == 1 {
		dst := wide
		if dst == nil {
			dst = make([]uint8, size)
		}
		for y := range h {
			row(y, dst[3*w*y:3*w*(y+1)])
		}
		return dst[:size]
	}
	dst, line := make([]uint8, size), make([]uint8, 3*w)
	base, dx, dy := orient(header.Orientation, w, h)
	for y := range h {
		row(y, line)
		for x := range w {
			copy(dst[3*(base+x*dx+y*dy):], line[3*x:3*x+3])
		}
	}
	return dst
}

// orient says where the stored pixel (x, y) of a w×h picture is displayed: at pixel index base + x·dx + y·dy.
// Source: EXIF 2.32, tag 274; orientations 5 to 8 swap width and height.
func orient(orientation, w, h int) (base, dx, dy int) {
	switch orientation {
	case 2:
		return w - 1, -1, w
	case 3:
		return w*h - 1, -1, -w
	case 4:
		return w * (h - 1), 1, -w
	case 5:
		return 0, h, 1
	case 6:
		return h - 1, h, -1
	case 7:
		return h*w - 1, -h, -1
	case 8:
		return h * (w - 1), -h, 1
	default:
		return 0, 1, w
	}
}

// rows returns a function that writes row y as RGB. wide is the picture's own memory where a pixel takes at least four bytes:
// writing rows in order into it never overtakes the reading. Of 16-bit samples that use so many bits the highest 8 are kept.
func rows(src image.Image, used int) (row func(y int, dst []uint8), wide []uint8) {
	b := src.Bounds()
	w := b.Dx()
	lower := used - 8
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
				v := uint8(sample(m.Pix[y*m.Stride+2*x:]) >> lower)
				dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
			}
		}, nil
	case *image.Paletted:
		palette := make([][3]uint8, len(m.Palette))
		for i, c := range m.Palette {
			palette[i] = overBlack(c)
		}
		return func(y int, dst []uint8) {
			for x, v := range m.Pix[y*m.Stride:][:w] {
				copy(dst[3*x:], palette[v][:])
			}
		}, nil
	case *image.YCbCr:
		return func(y int, dst []uint8) {
			for x := range w {
				c := m.COffset(b.Min.X+x, b.Min.Y+y)
				dst[3*x], dst[3*x+1], dst[3*x+2] = color.YCbCrToRGB(m.Y[y*m.YStride+x], m.Cb[c], m.Cr[c])
			}
		}, nil
	case *image.RGBA: // premultiplied: already over black
		return func(y int, dst []uint8) {
			for x := range w {
				p := m.Pix[y*m.Stride+4*x:]
				dst[3*x], dst[3*x+1], dst[3*x+2] = p[0], p[1], p[2]
			}
		}, m.Pix
	case *image.NRGBA:
		return func(y int, dst []uint8) {
			for x := range w {
				p := m.Pix[y*m.Stride+4*x:]
				r, g, b, a := p[0], p[1], p[2], uint32(p[3])
				dst[3*x], dst[3*x+1], dst[3*x+2] = scale(r, a), scale(g, a), scale(b, a)
			}
		}, m.Pix
	case *image.RGBA64:
		return func(y int, dst []uint8) {
			for x := range w {
				p := m.Pix[y*m.Stride+8*x:]
				dst[3*x], dst[3*x+1], dst[3*x+2] = uint8(sample(p)>>lower), uint8(sample(p[2:])>>lower), uint8(sample(p[4:])>>lower)
			}
		}, m.Pix
	case *image.NRGBA64:
		return func(y int, dst []uint8) {
			for x := range w {
				p := m.Pix[y*m.Stride+8*x:]
				a := sample(p[6:])
				for c := range 3 {
					dst[3*x+c] = uint8(sample(p[2*c:]) * a / 0xffff >> lower)
				}
			}
		}, m.Pix
	default: // CMYK
		return func(y int, dst []uint8) {
			for x := range w {
				rgb := overBlack(src.At(b.Min.X+x, b.Min.Y+y))
				copy(dst[3*x:], rgb[:])
			}
		}, nil
	}
}

// sample is a 16-bit sample.
func sample(p []uint8) uint32 { return uint32(p[0])<<8 | uint32(p[1]) }

// depth is how many bits a picture of 16-bit samples uses: microscopes and scanners write 10, 12 and 14 without saying so, and their highest byte is
// black. It is 0 for other pictures. Transparency does not count.
func depth(src image.Image) int {
	var pix []uint8
	var stride, channels, few int
	switch m := src.(type) {
	case *image.Gray16:
		pix, stride, channels, few = m.Pix, m.Stride, 1, 1
	case *image.RGBA64:
		pix, stride, channels, few = m.Pix, m.Stride, 4, 3
	case *image.NRGBA64:
		pix, stride, channels, few = m.Pix, m.Stride, 4, 3
	default:
		return 0
	}
	all := uint32(0)
	for y := range src.Bounds().Dy() {
		row := pix[y*stride:][:2*channels*src.Bounds().Dx()]
		for ; len(row) > 0; row = row[2*channels:] {
			for c := range few {
				all |= sample(row[2*c:])
			}
		}
	}
	return max(8, bits.Len32(all)+bits.Len32(all)%2)
}

// scale is one channel of alpha 0..255 over black, rounded as color.NRGBA rounds it.
func scale(v uint8, alpha uint32) uint8 {
	return uint8(uint32(v) * 0x101 * (alpha * 0x101) / 0xffff >> 8)
}

// overBlack composites a colour over black: its premultiplied components.
func overBlack(c color.Color) [3]uint8 {
	r, g, b, _ := c.RGBA()
	return [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
}
