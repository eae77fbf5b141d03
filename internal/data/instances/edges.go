package instances

import (
	"image"
	"slices"

	"mrprism/internal/data/contour"
	"mrprism/internal/data/roi"
)

// The directions of an edge of a pixel: right, down, left, up. An object lies to the right hand.
// hand is the pixel there, from the corner where the edge begins.
var (
	steps = [4]image.Point{{X: 1}, {Y: 1}, {X: -1}, {Y: -1}}
	hand  = [4]image.Point{{}, {X: -1}, {X: -1, Y: -1}, {Y: -1}}
)

// Edges are an object's outlines along the borders of its pixels, in pixels of the picture: they
// enclose its area exactly. Pixels that touch at a corner alone are pieces of their own. No line
// touches itself, as Simple Features wants.
func (f *Field) Edges(number uint16) (all []contour.Polygon) {
	at := f.Find(number).Box
	w := at.Dx()
	inside := func(i int) bool { return f.Labels[(at.Min.Y+i/w)*f.Width+at.Min.X+i%w] == number }
	seen := map[image.Point]bool{} // where an edge to the right begins
	for _, piece := range roi.Connected(w*at.Dy(), w, false, inside) {
		var lines contour.Polygon
		for _, i := range piece {
			corner := at.Min.Add(image.Pt(i%w, i/w))
			if seen[corner] || f.At(corner.X, corner.Y-1) == number {
				continue
			}
			lines = append(lines, f.walk(number, corner, seen)...)
			if i == piece[0] { // the first pixel lies at the outer line, which closes last
				slices.Reverse(lines)
			}
		}
		all = append(all, lines)
	}
	return all
}

// walk follows the edges of an object from a corner to the right and back. Where it passes a corner
// twice, a line of its own closes.
func (f *Field) walk(number uint16, start image.Point, seen map[image.Point]bool) (lines [][]contour.Point) {
	is := func(p image.Point) bool { return f.At(p.X, p.Y) == number }
	var line []contour.Point
	crossed := map[contour.Point]int{} // place in line of a corner where pixels touch
	for corner, d := start, 0; ; {
		if d == 0 {
			seen[corner] = true
		}
		corner = corner.Add(steps[d])
		point := contour.Point{float64(corner.X), float64(corner.Y)}
		switch left := is(corner.Add(hand[(d+3)%4])); {
		case !is(corner.Add(hand[d])): // to the right
			d = (d + 1) % 4
			if at, again := crossed[point]; again && at < len(line) && line[at] == point {
				lines = append(lines, append(slices.Clone(line[at:]), point))
				line = line[:at]
			}
			if left {
				crossed[point] = len(line)
			}
			line = append(line, point)
		case left:
			d = (d + 3) % 4
			line = append(line, point)
		}
		if corner == start && d == 0 {
			return append(lines, append(line, line[0]))
		}
	}
}
