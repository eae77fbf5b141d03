// Package overlay turns pictures and probability maps into what the stage draws: contour lines and
// small maps of bytes.
package overlay

import (
	"fmt"

	"mrprism/internal/data/contour"
	"mrprism/shaders/pulse"
)

// Window is a rectangle of the photograph, in its pixels.
type Window struct{ X, Y, Width, Height int }

// Picture is pixels that the stage draws over a window of the photograph. Each is the mean of a
// square block of the photograph's pixels. The last block of a row or column may have fewer pixels,
// but is drawn as large as the others: the window has the whole width of all blocks.
type Picture struct {
	Window                 // in photograph pixels
	PixelsWide, PixelsHigh int
	Values                 []byte // (PixelsHigh, PixelsWide), or (PixelsHigh, PixelsWide, 4) in colours
	block                  int    // side of a block
}

// Map is the part of a probability map that the stage shows, within a window: bytes, with 255 for
// 1, and the lines where the map crosses one half.
type Map struct {
	Picture
	Lines contour.Lines // in photograph pixels
}

// longestSide limits a map's pixels on a side: a network of 256² shows nothing finer.
const longestSide = 1024

// shrink makes the picture of a window with the smallest blocks that leave no side longer than
// longest. pixel computes the value of the block [x0, x1) × [y0, y1), in pixels of the window.
func shrink(w Window, longest, channels int, pixel func(out []byte, x0, y0, x1, y1 int)) Picture {
	block := max(1, (max(w.Width, w.Height)+longest-1)/longest)
	wide, high := (w.Width+block-1)/block, (w.Height+block-1)/block
	p := Picture{Window{w.X, w.Y, wide * block, high * block}, wide, high, make([]byte, channels*wide*high), block}
	out := p.Values
	for y := 0; y < w.Height; y += block {
		pulse.Beat()
		for x := 0; x < w.Width; x += block {
			pixel(out[:channels], x, y, min(x+block, w.Width), min(y+block, w.Height))
			out = out[channels:]
		}
	}
	return p
}

// lineTolerance is how far a simplified contour may lie from the traced one, in map pixels.
const lineTolerance = 0.06

// NewMap shrinks a window's values (Height, Width) for the stage, and traces the contour at one
// half. It panics if the number of values differs from the number of pixels in the window.
func NewMap(values []float32, w Window) Map {
	if len(values) != w.Width*w.Height {
		panic(fmt.Sprintf("overlay: %d values for a window of %d×%d", len(values), w.Width, w.Height))
	}
	mean := make([]float32, 0, longestSide*longestSide)
	m := Map{Picture: shrink(w, longestSide, 1, func(out []byte, x0, y0, x1, y1 int) {
		sum := float32(0)
		for y := y0; y < y1; y++ {
			for _, v := range values[y*w.Width+x0 : y*w.Width+x1] {
				sum += v
			}
		}
		v := sum / float32((x1-x0)*(y1-y0))
		mean = append(mean, v)
		switch {
		case v >= 1:
			out[0] = 255
		case v > 0:
			out[0] = byte(v*255 + 0.5)
		default:
			out[0] = 0
		}
	})}
	m.Lines = contour.Trace(mean, m.PixelsWide, m.PixelsHigh, 0.5, lineTolerance)
	for i := 0; i < len(m.Lines.Points); i += 2 {
		m.Lines.Points[i] = float32(w.X) + m.Lines.Points[i]*float32(m.block)
		m.Lines.Points[i+1] = float32(w.Y) + m.Lines.Points[i+1]*float32(m.block)
	}
	return m
}

// Photograph makes an opaque RGBA picture of RGB pixels (height, width, 3), with no side longer
// than longest.
func Photograph(rgb []byte, width, height, longest int) Picture {
	return shrink(Window{Width: width, Height: height}, longest, 4, func(out []byte, x0, y0, x1, y1 int) {
		out[3] = 255
		n := (x1 - x0) * (y1 - y0)
		if n == 1 {
			copy(out[:3], rgb[3*(y0*width+x0):])
			return
		}
		var sum [3]int
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				p := rgb[3*(y*width+x):]
				sum[0], sum[1], sum[2] = sum[0]+int(p[0]), sum[1]+int(p[1]), sum[2]+int(p[2])
			}
		}
		for c := range sum {
			out[c] = byte((sum[c] + n/2) / n)
		}
	})
}
