package dicom

import (
	"image"
	"math"

	"mrprism/internal/files/raster"
)

// window says which values of a grey frame become black and white. Source: PS3.3 C.11.2.1.
type window struct {
	centre, width float64
	function      string // LINEAR, LINEAR_EXACT or SIGMOID
}

// window reads the file's first window, nil if it has none with a width.
func (p *parser) window() *window {
	c, w := p.numbers(0x00281050), p.numbers(0x00281051)
	if len(c) == 0 || len(w) == 0 || !(w[0] > 0) || math.IsInf(w[0], 0) || math.IsNaN(c[0]) || math.IsInf(c[0], 0) {
		return nil
	}
	return &window{c[0], w[0], text(p.found[0x00281056])}
}

// limits are the largest value that is black and the smallest that is white.
func (w *window) limits() (low, high float64) {
	switch {
	case w.function == "LINEAR_EXACT" || w.width < 1: // LINEAR is not defined below 1
		return w.centre - w.width/2, w.centre + w.width/2
	case w.width == 1:
		return w.centre - 0.5, w.centre - 0.5 + 1e-9
	}
	return w.centre - 0.5 - (w.width-1)/2, w.centre - 0.5 + (w.width-1)/2
}

// sigmoid replaces values by the window's sigmoid of them, 0 to 1.
func (w *window) sigmoid(values []float32) {
	for i, v := range values {
		values[i] = float32(1 / (1 + math.Exp(-4*(float64(v)-w.centre)/w.width)))
	}
}

// blank replaces padding, which is no part of the picture, by NaN: the Pixel Padding Value, or all
// stored values between it and the Range Limit. Source: PS3.3 C.7.5.1.1.2.
func (f *frame) blank(values []float32) {
	if len(f.found[0x00280120]) < 2 {
		return
	}
	value := func(tag uint32, other int) int {
		v := f.word(tag, other)
		if f.signed {
			return int(int16(v))
		}
		return v
	}
	low := value(0x00280120, 0)
	high := value(0x00280121, low)
	low, high = min(low, high), max(low, high)
	for i, v := range values {
		if v >= float32(low) && v <= float32(high) {
			values[i] = float32(math.NaN())
		}
	}
}

// grey removes padding from stored values, and applies slope, intercept and window.
func (f *frame) grey(values []float32) image.Image {
	f.blank(values)
	if f.modality != nil {
		f.modality.apply(values)
	} else {
		for i, v := range values {
			values[i] = float32(f.slope*float64(v) + f.intercept)
		}
	}
	low, high := 0., 255.
	switch {
	case f.voi != nil:
		f.voi.apply(values)
		high = float64(int(1)<<f.voi.bits - 1)
	case f.window != nil && f.window.function == "SIGMOID":
		f.window.sigmoid(values)
		high = 1
	case f.window != nil:
		low, high = f.window.limits()
		values := raster.HistogramOf(values)
		values.Range(raster.Span{}, raster.Span{})
		f.cut = values.Cut(raster.Span{Low: low, High: high})
	case f.stored != 8 || f.signed || f.modality != nil || f.slope != 1 || f.intercept != 0:
		low, high = raster.HistogramOf(values).Range(raster.Span{}, raster.Span{})
	}
	return raster.Grey(values, f.w, f.h, low, high, f.photometric == "MONOCHROME1")
}
