package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"math"

	"golang.org/x/image/bmp"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

// bitmap is the content of a BMP's headers. Their sizes and the rules are those of Chromium's
// bmp_image_reader.cc: 12 bytes (OS/2), 16 to 64 (OS/2 2), 40 (Windows), and 52, 56, 108 and 124
// with masks.
type bitmap struct {
	w, h, bits, compression uint32
	topDown                 bool
	spacing                 [2]float64
	alpha                   bool   // the fourth byte of a pixel may be alpha
	palette                 []byte // 4 bytes a colour
	pixels                  []byte
}

// bmpHeader reads a BMP's size and resolution.
func bmpHeader(data []byte) (*raster.Frame, error) {
	b, err := readBitmap(data)
	if err != nil {
		return nil, err
	}
	f := &raster.Frame{Orientation: 1, Spacing: b.spacing, W: int(min(b.w, math.MaxInt32)), H: int(min(b.h, math.MaxInt32)), Decode: b.decode}
	w, h := int64(b.w), int64(b.h)
	f.Memory = 4*w*h + slack
	f.Least = (w*int64(b.bits)+31)/32*4*(h-1) + (w*int64(b.bits)+7)/8 + int64(len(data)-len(b.pixels))
	return f, nil
}

// readBitmap reads the headers, and refuses pictures that x/image/bmp cannot decode.
func readBitmap(data []byte) (*bitmap, error) {
	const fileHeader = 14
	order := binary.LittleEndian
	if len(data) < fileHeader+12 {
		return nil, io.ErrUnexpectedEOF
	}
	size, start := order.Uint32(data[fileHeader:]), order.Uint32(data[10:])
	switch {
	case size != 12 && (size < 16 || size > 64) && size != 108 && size != 124:
		return nil, raster.Unsupported(fmt.Sprintf("a header of %d bytes", size))
	case len(data) < fileHeader+int(size):
		return nil, io.ErrUnexpectedEOF
	}
	header, rest := make([]byte, 124), data[fileHeader+size:] // an absent field is 0
	copy(header, data[fileHeader:][:size])
	b, colour := &bitmap{}, 4
	if size == 12 {
		colour = 3
		b.w, b.h, b.bits = uint32(order.Uint16(header[4:])), uint32(order.Uint16(header[6:])), uint32(order.Uint16(header[10:]))
		clear(header[12:])
	} else {
		b.w, b.h, b.bits, b.compression = order.Uint32(header[4:]), order.Uint32(header[8:]), uint32(order.Uint16(header[14:])), order.Uint32(header[16:])
		if b.topDown = int32(b.h) < 0; b.topDown {
			b.h = -b.h
		}
		for i := range b.spacing { // pixels a metre
			if density := int32(order.Uint32(header[24+4*i:])); density > 0 {
				b.spacing[i] = 1000 / float64(density)
			}
		}
	}
	masks := header[40:56]
	if size == 40 && (b.compression == 3 || b.compression == 6) { // masks follow the header
		clear(masks)
		rest = rest[copy(masks[:min(len(masks), 12+4*int(b.compression/6))], rest):]
	}
	if err := b.readable(masks); err != nil {
		return nil, err
	}
	b.alpha = b.bits == 32 && (size == 56 || size > 64) && order.Uint32(masks[12:]) != 0
	if b.bits <= 8 {
		used := min(int(order.Uint32(header[32:])), 1<<b.bits)
		if used <= 0 {
			used = 1 << b.bits
		}
		if start > 0 {
			used = min(used, max(0, int(start)-(len(data)-len(rest)))/colour)
		}
		b.palette = make([]byte, 4<<b.bits) // missing colours are black
		for i := range min(used, len(rest)/colour) {
			copy(b.palette[4*i:][:3], rest[colour*i:])
		}
		rest = rest[min(used*colour, len(rest)):]
	}
	if b.pixels = rest; start > 0 {
		if int64(start) < int64(fileHeader+size) || int64(start) > int64(len(data)) {
			return nil, io.ErrUnexpectedEOF
		}
		b.pixels = data[start:]
	}
	return b, nil
}

// readable refuses the kinds of pixels that we do not read, by name.
func (b *bitmap) readable(masks []byte) error {
	order, kind := binary.LittleEndian, fmt.Sprintf("%d bits a pixel", b.bits)
	switch b.compression {
	case 0:
	case 3, 6:
		usual := order.Uint32(masks) == 0xff0000 && order.Uint32(masks[4:]) == 0xff00 && order.Uint32(masks[8:]) == 0xff
		if alpha := order.Uint32(masks[12:]); b.bits != 32 || !usual || (alpha != 0 && alpha != 0xff000000) {
			return raster.Unsupported(kind + " with bit masks")
		}
	default:
		names := map[uint32]string{1: "run lengths", 2: "run lengths", 4: "JPEG", 5: "PNG"}
		if names[b.compression] == "" {
			names[b.compression] = fmt.Sprintf("compression %d", b.compression)
		}
		return raster.Unsupported(kind + " with " + names[b.compression])
	}
	switch b.bits {
	case 1, 2, 4, 8, 24, 32:
		return nil
	}
	return raster.Unsupported(kind)
}

// decode lets x/image/bmp read the pixels after a header that it knows: of 40 bytes, or of 108 if
// alpha counts. Alpha that is 0 everywhere does not count, as in browsers.
func (b *bitmap) decode() (image.Image, error) {
	size := 40
	if b.alpha {
		for i := 3; i < min(len(b.pixels), int(4*b.w*b.h)); i += 4 {
			if b.pixels[i] != 0 {
				size = 108
				break
			}
		}
	}
	header := make([]byte, 14+size, 14+size+len(b.palette))
	copy(header, "BM")
	order, h := binary.LittleEndian, b.h
	if b.topDown {
		h = -h
	}
	order.PutUint32(header[10:], uint32(len(header)+len(b.palette)))
	order.PutUint32(header[14:], uint32(size))
	order.PutUint32(header[18:], b.w)
	order.PutUint32(header[22:], h)
	order.PutUint16(header[26:], 1)
	order.PutUint16(header[28:], uint16(b.bits))
	read := io.MultiReader(bytes.NewReader(append(header, b.palette...)), bytes.NewReader(b.pixels), bytes.NewReader(make([]byte, 3))) // the last row may lack its padding
	return bmp.Decode(pulse.Reader(read))
}
