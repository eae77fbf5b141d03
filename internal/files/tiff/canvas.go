package tiff

import (
	"image"
	"image/color"
	"math"
	"slices"

	"mrprism/internal/files/raster"
)

// canvas is the picture that decode fills. Unsigned samples of up to 16 bits are written to its
// pixels. All others are kept as floats until finish maps their range to 256 levels.
type canvas struct {
	*page
	pix      []uint8
	stride   int // bytes a pixel
	channels int // values a pixel
	floats   []float32
	most     uint64 // the largest value of a sample of up to 16 bits
}

func newCanvas(p *page) *canvas {
	c := &canvas{page: p, channels: p.channels(), stride: 1}
	if c.channels > 1 {
		c.stride = 4
	}
	if p.wide() {
		c.floats = make([]float32, p.w*p.h*c.channels)
		return c
	}
	if c.most = 1<<p.bits - 1; p.bits > 8 {
		c.stride *= 2
	}
	c.pix = make([]uint8, p.w*p.h*c.stride)
	if c.stride >= 4 && p.alpha < 0 && p.photometric != cmyk {
		size := c.stride / 4
		for i := 3 * size; i < len(c.pix); i += c.stride {
			for k := range size {
				c.pix[i+k] = 255
			}
		}
	}
	return c
}

// takesRows reports whether setRow can take rows as the file has them: one sample of 1 or 8 bits a
// pixel.
func (c *canvas) takesRows() bool {
	return c.pix != nil && c.stride == 1 && c.samplesPerPlane() == 1 && c.colours == 1 && c.samples == 1 && c.predictor == 1 && (c.bits == 1 || c.bits == 8)
}

// setRow sets n samples of row y, from x on.
func (c *canvas) setRow(x, y, n int, line []byte) {
	row, flip := c.pix[y*c.w+x:][:n], byte(0)
	if c.photometric == whiteIsZero {
		flip = 255
	}
	if c.bits == 8 {
		for i, v := range line[:n] {
			row[i] = v ^ flip
		}
		return
	}
	white := byte(255)
	if c.photometric == palette {
		white = 1
	}
	for i := range row {
		row[i] = (-(line[i/8] >> (7 - i%8) & 1) ^ flip) & white
	}
}

// set sets one sample.
func (c *canvas) set(x, y, channel int, v uint64) {
	at := y*c.w + x
	if c.floats != nil {
		c.floats[at*c.channels+channel] = c.float(v)
		return
	}
	if c.photometric == whiteIsZero && channel == 0 && c.bits <= 8 {
		v = c.most - v
	}
	size := 1
	switch {
	case c.bits > 8:
		v, size = v<<(16-c.bits), 2
	case c.bits < 8 && c.photometric != palette:
		v = v * 255 / c.most
	}
	first, last := channel, channel
	if c.colours == 1 && c.alpha >= 0 { // grey with alpha becomes RGB
		if first, last = 0, 2; channel > 0 {
			first, last = 3, 3
		}
	}
	for p := c.pix[at*c.stride:]; first <= last; first++ {
		if size == 1 {
			p[first] = uint8(v)
		} else {
			p[2*first], p[2*first+1] = uint8(v>>8), uint8(v)
		}
	}
}

// finish makes a picture that package imageio converts.
func (c *canvas) finish() image.Image {
	if c.floats != nil {
		c.level()
	}
	bounds := image.Rect(0, 0, c.w, c.h)
	deep := c.floats == nil && c.bits > 8
	switch {
	case c.photometric == palette:
		colours := make(color.Palette, 1<<c.bits)
		n, wide := len(colours), false
		for i := range 3 * n {
			wide = wide || c.uint(c.map16, i, 0) > 255 // some programs write 8 bits
		}
		for i := range colours {
			var v [3]uint8
			for k := range v {
				if v[k] = uint8(c.uint(c.map16, k*n+i, 0)); wide {
					v[k] = uint8(c.uint(c.map16, k*n+i, 0) >> 8)
				}
			}
			colours[i] = color.RGBA{v[0], v[1], v[2], 255}
		}
		if i := int(c.none); float64(i) == c.none && i >= 0 && i < n {
			colours[i] = color.Black
		}
		return &image.Paletted{Pix: c.pix, Stride: c.w, Rect: bounds, Palette: colours}
	case c.photometric == cmyk:
		if deep { // keep the highest byte
			for i := range c.w * c.h * 4 {
				c.pix[i] = c.pix[2*i]
			}
		}
		return &image.CMYK{Pix: c.pix[:4*c.w*c.h], Stride: 4 * c.w, Rect: bounds}
	case c.photometric == yCbCr && c.compression != 7:
		for i := 0; i < len(c.pix); i += 4 {
			c.pix[i], c.pix[i+1], c.pix[i+2] = color.YCbCrToRGB(c.pix[i], c.pix[i+1], c.pix[i+2])
		}
	}
	switch {
	case c.channels == 1 && deep:
		return &image.Gray16{Pix: c.pix, Stride: 2 * c.w, Rect: bounds}
	case c.channels == 1:
		return &image.Gray{Pix: c.pix, Stride: c.w, Rect: bounds}
	case deep && c.associated:
		return &image.RGBA64{Pix: c.pix, Stride: 8 * c.w, Rect: bounds}
	case deep:
		return &image.NRGBA64{Pix: c.pix, Stride: 8 * c.w, Rect: bounds}
	case c.associated:
		return &image.RGBA{Pix: c.pix, Stride: 4 * c.w, Rect: bounds}
	}
	return &image.NRGBA{Pix: c.pix, Stride: 4 * c.w, Rect: bounds}
}

// empty reports whether a pixel has no data: all of its colours are the page's value for that, as
// exactly as a program writes it in decimals.
func (c *canvas) empty(colours []float32) bool {
	return !slices.ContainsFunc(colours, func(v float32) bool {
		return v != float32(c.none) && !(math.Abs(float64(v)-c.none) <= 1e-6*math.Abs(c.none))
	})
}

// level maps floats to 256 levels. Pixels without data are black.
func (c *canvas) level() {
	for i := 0; i < len(c.floats); i += c.channels {
		if colours := c.floats[i:][:c.colours]; c.empty(colours) {
			for k := range colours {
				colours[k] = float32(math.NaN())
			}
		}
	}
	h := raster.NewHistogram()
	for i, v := range c.floats {
		if i%c.channels < c.colours {
			h.Add(v, 1)
		}
	}
	bits := raster.Span{}
	if c.format == 3 && h.Ends.Low >= 0 && h.Ends.High <= 1 {
		bits.High = 1
	}
	low, high := h.Range(raster.Span{}, bits)
	if c.colours > 1 && c.format == 3 && low >= 0 && high <= 1 {
		low, high = 0, 1 // colours keep their proportions
	}
	full := math.Ldexp(1, c.bits) - 1
	if c.format == 1 && c.bits <= 8 {
		low, high = 0, full
	}
	c.pix = make([]uint8, c.w*c.h*c.stride)
	for i := range c.w * c.h {
		values, p := c.floats[i*c.channels:][:c.channels], c.pix[i*c.stride:]
		for k, v := range values {
			p[k] = raster.Level(float64(v), low, high)
		}
		if c.photometric == whiteIsZero && values[0] == values[0] {
			p[0] = 255 - p[0]
		}
		if c.stride == 4 && c.photometric != cmyk {
			if c.colours == 1 {
				p[1], p[2] = p[0], p[0]
			}
			if p[3] = 255; c.alpha >= 0 && c.format == 1 {
				p[3] = raster.Level(float64(values[c.colours]), 0, full)
			}
		}
	}
}
