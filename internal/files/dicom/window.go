package dicom

import (
	"image"
	"math"
	"slices"

	"mrprism/internal/files/raster"
)

// window says which values of a grey frame become black and white. Source: PS3.3 C.11.2.1.
type window struct {
	centre, width float64
	function      string // LINEAR, LINEAR_EXACT or SIGMOID
}

// window reads the file's first window, nil if it has none with a width.
func (p *parser) window() *window {
	c, w := p.numbers(0x00281050, "DS"), p.numbers(0x00281051, "DS")
	if len(c) == 0 || len(w) == 0 || w[0] <= 0 {
		return nil
	}
	return &window{c[0], w[0], text(p.found[0x00281056])}
}

// span is from the largest value that is black to the smallest that is white.
func (w *window) span() raster.Span {
	switch {
	case w.function == "LINEAR_EXACT" || w.width < 1: // LINEAR is not defined below 1
		return raster.Span{Low: w.centre - w.width/2, High: w.centre + w.width/2}
	case w.width == 1:
		return raster.Span{Low: w.centre - 0.5, High: w.centre - 0.5 + 1e-9}
	}
	return raster.Span{Low: w.centre - 0.5 - (w.width-1)/2, High: w.centre - 0.5 + (w.width-1)/2}
}

// sigmoid replaces values by the window's sigmoid of them, 0 to 1.
func (w *window) sigmoid(values []float32) {
	for i, v := range values {
		values[i] = float32(1 / (1 + math.Exp2(-4*math.Log2E*(float64(v)-w.centre)/w.width)))
	}
}

// blank replaces padding, which is no part of the picture, by NaN: the Pixel Padding Value, or all
// stored values between it and the Range Limit. Source: PS3.3 C.7.5.1.1.2.
func (f *frame) blank(values []float32) {
	ends, limit := f.numbers(0x00280120, "US"), f.numbers(0x00280121, "US")
	if len(ends) == 0 {
		return
	}
	ends = append(ends[:1], limit[:min(1, len(limit))]...)
	for i, v := range ends {
		if f.signed && v > math.MaxInt16 && v <= math.MaxUint16 && f.allocated <= 16 {
			ends[i] = v - 1<<16
		}
	}
	low, high := float32(slices.Min(ends)), float32(slices.Max(ends))
	for i, v := range values {
		if v >= low && v <= high {
			values[i] = float32(math.NaN())
		}
	}
}

// grey removes padding from stored values, and applies slope, intercept, and window or VOI LUT. One
// of these that shows nearly nothing does not count.
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
	case f.voi != nil && f.voi.span().Shows(values):
		high = f.voi.apply(values)
	case f.window != nil && f.window.function == "SIGMOID" && f.window.span().Shows(values):
		f.window.sigmoid(values)
		high = 1
	case f.window != nil && f.window.span().Shows(values):
		shown := f.window.span()
		all := raster.HistogramOf(values)
		all.Range(raster.Span{}, raster.Span{})
		low, high, f.cut = shown.Low, shown.High, all.Cut(shown)
	case f.stored != 8 || f.signed || f.modality != nil || f.slope != 1 || f.intercept != 0:
		low, high = raster.HistogramOf(values).Range(raster.Span{}, raster.Span{})
	}
	return raster.Grey(values, f.w, f.h, low, high, f.photometric == "MONOCHROME1")
}
