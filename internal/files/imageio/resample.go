package imageio

import (
	"fmt"
	"image"
	"math"

	"mrprism/shaders/pulse"
)

// This file holds the one resampler. Crop brings a square of the image, which may reach beyond its
// border, to S×S for the network, and Restore brings maps back to the image. Along each axis output
// pixel i covers [origin + i·step, origin + (i+1)·step) of the source. For step > 1 it is the mean
// over that interval, otherwise what Crop interpolates linearly, and Restore by a spline, at the
// interval's centre (half-pixel). Beyond the border the source continues with its edge pixel. At
// step 1 an aligned square is copied unchanged. Every product is rounded to float32 (no fused
// multiply-add), so that all machines agree to the bit.

// Square is a region of the displayed image, in pixels: its left upper corner and its side. It may
// extend beyond the image.
type Square struct {
	X    int `json:"x"`
	Y    int `json:"y"`
	Side int `json:"side"`
}

// Letterbox is the smallest square that holds the whole w×h image, centred; if the difference of
// the sides is odd, it lies half a pixel down and right of the centre.
func Letterbox(w, h int) Square {
	side := max(w, h)
	return Square{X: -((side - w) / 2), Y: -((side - h) / 2), Side: side}
}

// Crop resamples a square of the image into dst (s, s, 3), values 0..1.
func (m *Image) Crop(dst []float32, sq Square, s int) {
	if s <= 0 || sq.Side <= 0 || len(dst) != 3*s*s {
		panic(fmt.Sprintf("imageio: Crop: square %+v to %d² with %d values", sq, s, len(dst)))
	}
	step := float64(sq.Side) / float64(s)
	columns, lines := spans(m.W, float64(sq.X), step, s, linear), spans(m.H, float64(sq.Y), step, s, linear)
	for _, l := range lines {
		for k := range l.weights {
			l.weights[k] /= 255
		}
	}
	horizontal := func(j int, row []float32) {
		src := m.Pix[3*m.W*j : 3*m.W*(j+1)]
		for i, c := range columns {
			var r, g, b float32
			p := src[3*c.first:]
			for k, w := range c.weights {
				r += float32(w * float32(p[3*k]))
				g += float32(w * float32(p[3*k+1]))
				b += float32(w * float32(p[3*k+2]))
			}
			row[3*i], row[3*i+1], row[3*i+2] = r, g, b
		}
	}
	vertical(lines, 3*s, horizontal, func(i int) []float32 { return dst[3*s*i : 3*s*(i+1)] }, func([]float32) {})
}

// Restore reverses Crop: it resamples channel c of a map (s, s, channels), computed on the square,
// onto the w×h image. The result (h, w) is zero outside the square, and outside of what the pixels of
// the map in only reach, unless that is empty. The spline enlarges without facets. Of two maps, the
// one that is nowhere larger stays so: no weight is negative. finish is given each row that is made.
func Restore(src []float32, s, channels, c int, sq Square, w, h int, only image.Rectangle, finish func(row []float32)) []float32 {
	if s <= 0 || sq.Side <= 0 || c < 0 || c >= channels || len(src) != s*s*channels {
		panic(fmt.Sprintf("imageio: Restore: channel %d of %d, %d values, %d² from square %+v", c, channels, len(src), s, sq))
	}
	dst := make([]float32, w*h)
	x0, x1 := max(0, sq.X), min(w, sq.X+sq.Side)
	y0, y1 := max(0, sq.Y), min(h, sq.Y+sq.Side)
	if x0 >= x1 || y0 >= y1 {
		return dst
	}
	step := float64(s) / float64(sq.Side)
	enlarge := cubic
	if sq.Side == s {
		enlarge = linear // which copies
	}
	columns, left := reached(spans(s, float64(x0-sq.X)*step, step, x1-x0, enlarge), only.Min.X, only.Max.X)
	lines, top := reached(spans(s, float64(y0-sq.Y)*step, step, y1-y0, enlarge), only.Min.Y, only.Max.Y)
	x0, y0 = x0+left, y0+top
	horizontal := func(j int, row []float32) {
		for i, span := range columns {
			p := src[(j*s+span.first)*channels+c:]
			if w := span.weights; len(w) == 4 && channels == 1 {
				row[i] = float32(w[0]*p[0]) + float32(w[1]*p[1]) + float32(w[2]*p[2]) + float32(w[3]*p[3])
				continue
			}
			var v float32
			for k, weight := range span.weights {
				v += float32(weight * p[k*channels])
			}
			row[i] = v
		}
	}
	vertical(lines, len(columns), horizontal, func(i int) []float32 { return dst[(y0+i)*w+x0:][:len(columns)] }, finish)
	return dst
}

// reached are the spans from the first to the last that has a source pixel in [from, to), and how
// many lie before them; all, if there is no such pixel.
func reached(all []span, from, to int) (part []span, before int) {
	if from >= to {
		return all, 0
	}
	for len(all) > 0 && all[0].first+len(all[0].weights) <= from {
		all, before = all[1:], before+1
	}
	for len(all) > 0 && all[len(all)-1].first >= to {
		all = all[:len(all)-1]
	}
	return all, before
}

// span is one output pixel along one axis: source pixels first, first+1, … and their weights,
// which sum to 1.
type span struct {
	first   int
	weights []float32
}

// spans describes count output pixels over a source of n pixels. For step ≤ 1 interpolate makes
// them.
func spans(n int, origin, step float64, count int, interpolate func(n int, c float64) span) []span {
	out := make([]span, count)
	for i := range out {
		lo := origin + float64(i)*step
		if step > 1 {
			out[i] = mean(n, lo, lo+step)
		} else {
			out[i] = interpolate(n, lo+step/2-0.5)
		}
	}
	return out
}

// mean weighs the source pixels by their overlap with [lo, hi). The first and the last pixel extend
// to infinity.
func mean(n int, lo, hi float64) span {
	last := float64(n - 1)
	first := max(0, min(math.Floor(lo), last))
	end := max(first, min(math.Ceil(hi)-1, last))
	s := span{first: int(first), weights: make([]float32, int(end-first)+1)}
	for k := range s.weights {
		left, right := first+float64(k), first+float64(k)+1
		if left == 0 {
			left = math.Inf(-1)
		}
		if right > last {
			right = math.Inf(1)
		}
		s.weights[k] = float32((min(hi, right) - max(lo, left)) / (hi - lo))
	}
	return s
}

// linear interpolates at position c, counted in pixel centres.
func linear(n int, c float64) span {
	last := float64(n - 1)
	c = max(0, min(c, last))
	first := math.Floor(c)
	if f := c - first; f > 0 {
		return span{first: int(first), weights: []float32{float32(1 - f), float32(f)}}
	}
	return span{first: int(first), weights: []float32{1}}
}

// cubic is the cubic B-spline at position c, counted in pixel centres: its slope and its curvature
// have no jumps, and it is a little smoother than the source.
func cubic(n int, c float64) span {
	at := math.Floor(c)
	s := span{first: max(0, min(int(at)-1, n-4)), weights: make([]float32, min(n, 4))}
	for k, w := range Spline(c - at) {
		s.weights[max(0, min(int(at)-1+k, n-1))-s.first] += float32(w)
	}
	return s
}

// Spline is the weights of a cubic B-spline's four control points around a place, t behind the
// second, 0..1.
func Spline(t float64) [4]float64 {
	s := 1 - t
	return [4]float64{s * s * s / 6, (3*t*t*t - 6*t*t + 4) / 6, (3*s*s*s - 6*s*s + 4) / 6, t * t * t / 6}
}

// vertical sums rows that horizontal makes on demand. Neighbouring outputs share at most four source
// rows, and so vertical keeps four: its memory does not grow with the image.
func vertical(lines []span, width int, horizontal func(j int, row []float32), output func(i int) []float32, finish func(row []float32)) {
	var rows [4][]float32
	for k := range rows {
		rows[k] = make([]float32, width)
	}
	have := [4]int{-1, -1, -1, -1}
	for i, l := range lines {
		pulse.Beat()
		out := output(i)
		spline := len(l.weights) == len(rows)
		if !spline {
			clear(out)
		}
		for k, w := range l.weights {
			j := l.first + k
			row := rows[j%len(rows)]
			if have[j%len(rows)] != j {
				horizontal(j, row)
				have[j%len(rows)] = j
			}
			if spline {
				continue
			}
			for x, v := range row {
				out[x] += float32(w * v)
			}
		}
		if spline { // in one go, with the same roundings
			w, at := l.weights, func(k int) []float32 { return rows[(l.first+k)%len(rows)][:len(out)] }
			a, b, c, d := at(0), at(1), at(2), at(3)
			for x := range out {
				out[x] = float32(w[0]*a[x]) + float32(w[1]*b[x]) + float32(w[2]*c[x]) + float32(w[3]*d[x])
			}
		}
		finish(out)
	}
}
