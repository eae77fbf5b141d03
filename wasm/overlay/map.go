package overlay

import "fmt"

// Window is a rectangle of the photograph, in its pixels.
type Window struct{ X, Y, Width, Height int }

// Map is what the stage needs of a probability map within a window: bytes, 255 for 1, and the lines
// where the map crosses one half.
type Map struct {
	Window                 // in photograph pixels
	PixelsWide, PixelsHigh int
	Values                 []byte // (PixelsHigh, PixelsWide)
	Lines                  Lines  // in photograph pixels
}

// longestSide bounds a map's pixels on a side: a network of 256² says nothing finer.
const longestSide = 1024

// lineTolerance is how far a simplified contour may lie from the traced one, in map pixels.
const lineTolerance = 0.06

// NewMap averages whole blocks of a window's values (Height, Width) where there are more than the
// stage needs, and traces the contour at one half. It panics if the number of values is not that
// of the window's pixels.
func NewMap(values []float32, w Window) Map {
	if len(values) != w.Width*w.Height {
		panic(fmt.Sprintf("overlay: %d values for a window of %d×%d", len(values), w.Width, w.Height))
	}
	factor := max(1, (max(w.Width, w.Height)+longestSide-1)/longestSide)
	m := Map{Window: w, PixelsWide: (w.Width + factor - 1) / factor, PixelsHigh: (w.Height + factor - 1) / factor}
	mean := make([]float32, m.PixelsWide*m.PixelsHigh)
	m.Values = make([]byte, len(mean))
	for py := range m.PixelsHigh {
		for px := range m.PixelsWide {
			x0, y0 := px*factor, py*factor
			x1, y1 := min(x0+factor, w.Width), min(y0+factor, w.Height)
			sum := float32(0)
			for y := y0; y < y1; y++ {
				for _, v := range values[y*w.Width+x0 : y*w.Width+x1] {
					sum += v
				}
			}
			v := sum / float32((x1-x0)*(y1-y0))
			mean[py*m.PixelsWide+px] = v
			m.Values[py*m.PixelsWide+px] = byte(min(max(v, 0), 1)*255 + 0.5)
		}
	}
	m.Lines = Trace(mean, m.PixelsWide, m.PixelsHigh, 0.5, lineTolerance)
	for i := 0; i < len(m.Lines.Points); i += 2 {
		m.Lines.Points[i] = float32(w.X) + m.Lines.Points[i]*float32(factor)
		m.Lines.Points[i+1] = float32(w.Y) + m.Lines.Points[i+1]*float32(factor)
	}
	// The last block of a row or column may be narrower than the others, but is drawn as wide: the
	// window has the whole width of its blocks.
	m.Width, m.Height = m.PixelsWide*factor, m.PixelsHigh*factor
	return m
}

// Picture shrinks RGB pixels (height, width, 3) by whole blocks until neither side exceeds longest,
// and returns opaque RGBA.
func Picture(rgb []byte, width, height, longest int) (rgba []byte, pixelsWide, pixelsHigh int) {
	factor := max(1, (max(width, height)+longest-1)/longest)
	pixelsWide, pixelsHigh = (width+factor-1)/factor, (height+factor-1)/factor
	rgba = make([]byte, 4*pixelsWide*pixelsHigh)
	for py := range pixelsHigh {
		for px := range pixelsWide {
			out := rgba[4*(py*pixelsWide+px):]
			out[3] = 255
			if factor == 1 {
				copy(out[:3], rgb[3*(py*width+px):])
				continue
			}
			var sum [3]int
			x1, y1 := min((px+1)*factor, width), min((py+1)*factor, height)
			for y := py * factor; y < y1; y++ {
				for x := px * factor; x < x1; x++ {
					p := rgb[3*(y*width+x):]
					sum[0], sum[1], sum[2] = sum[0]+int(p[0]), sum[1]+int(p[1]), sum[2]+int(p[2])
				}
			}
			n := (x1 - px*factor) * (y1 - py*factor)
			for c := range sum {
				out[c] = byte((sum[c] + n/2) / n)
			}
		}
	}
	return rgba, pixelsWide, pixelsHigh
}
