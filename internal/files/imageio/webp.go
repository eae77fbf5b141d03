package imageio

import (
	"bytes"
	"encoding/binary"
	"image"
	"io"

	"golang.org/x/image/webp"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

// webpTables is the most memory of the code trees of a lossless WebP, or of lossless alpha. Every
// tile of 4 × 4 pixels may have its own group of trees, but x/image/webp refuses more than 2600
// groups. A group has five trees: 536 bytes each, and 6272 nodes of 8 bytes in all.
func webpTables(w, h int) int64 {
	const group = 5*536 + 6272*8
	return min(2600, int64((w+3)/4)*int64((h+3)/4)) * group
}

// webpHeader reads a WebP's size and its EXIF orientation.
func webpHeader(data []byte) (*raster.Frame, error) {
	if len(data) > 21 && string(data[12:16]) == "VP8X" && data[20]&2 != 0 {
		return nil, raster.Unsupported("an animation")
	}
	config, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	f := &raster.Frame{Orientation: 1, W: config.Width, H: config.Height}
	// A lossy picture with alpha has planes of 2.5 bytes a pixel beside the RGB that it becomes. A
	// lossless one has 4 bytes a pixel, up to twice.
	f.Memory = 9*int64(config.Width)*int64(config.Height) + slack
	f.Decode = func() (image.Image, error) {
		m, err := webp.Decode(pulse.Reader(bytes.NewReader(data)))
		switch m := m.(type) {
		case *image.YCbCr:
			return &lossy{NYCbCrA: image.NYCbCrA{YCbCr: *m}}, err
		case *image.NYCbCrA:
			return &lossy{NYCbCrA: *m}, err
		}
		return m, err
	}
	end := min(int64(len(data)), 8+int64(binary.LittleEndian.Uint32(data[4:]))) // behind it stands anything
	for at := 12; int64(at)+8 <= end; {
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		if size > int64(len(data)-at-8) {
			return nil, io.ErrUnexpectedEOF
		}
		switch string(data[at : at+4]) {
		case "EXIF":
			f.Orientation = exifOrientation(bytes.TrimPrefix(data[at+8:][:size], []byte("Exif\x00\x00")))
		case "VP8L", "ALPH":
			f.Memory += webpTables(config.Width, config.Height)
		}
		at += 8 + int(size+size%2)
	}
	return f, nil
}

// lossy is the picture of a lossy WebP, whose luma runs from 16 to 235 and chroma from 16 to 240
// (BT.601). Package image assumes the YCbCr of JPEG, which runs from 0 to 255: black would become
// grey.
type lossy struct{ image.NYCbCrA }

// Opaque reports whether no pixel is transparent.
func (m *lossy) Opaque() bool { return m.A == nil || m.NYCbCrA.Opaque() }

// row writes row y as RGB over black. Chroma of half the width and height is interpolated. All is
// rounded as by libwebp (yuv.h, upsampling.c), which the browsers use.
func (m *lossy) row(y int, dst []uint8) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	near, far := y/2*m.CStride, neighbour(y, h)*m.CStride
	for x := range w {
		c, beside := x/2, neighbour(x, w)
		chroma := func(p []uint8) int {
			a, b, c, d := int(p[near+c]), int(p[near+beside]), int(p[far+c]), int(p[far+beside])
			if beside == x/2 {
				return (3*a + c + 2) >> 2
			}
			return ((a+b+c+d+8+2*(b+c))>>3 + a) >> 1
		}
		luma, u, v := int(m.Y[y*m.YStride+x])*19077>>8, chroma(m.Cb), chroma(m.Cr)
		rgb := [3]int{
			luma + v*26149>>8 - 14234,
			luma - u*6419>>8 - v*13320>>8 + 8708,
			luma + u*33050>>8 - 17685,
		}
		for i, v := range rgb {
			dst[3*x+i] = uint8(min(max(v>>6, 0), 255))
		}
		if m.A != nil {
			alpha := uint32(m.A[y*m.AStride+x])
			for i := range 3 {
				dst[3*x+i] = scale(dst[3*x+i], alpha)
			}
		}
	}
}

// neighbour is the second nearest sample of chroma, of (size+1)/2 samples, to pixel i.
func neighbour(i, size int) int { return min(max((i-1)/2+i%2, 0), (size-1)/2) }
