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
	var line []image.Point
	crossed := map[image.Point]int{} // place in line of a corner where pixels touch
	closed := func(corners []image.Point) {
		var points []contour.Point
		for _, p := range append(slices.Clone(corners), corners[0]) {
			points = append(points, contour.Point{float64(p.X), float64(p.Y)})
		}
		lines = append(lines, points)
	}
	for corner, d := start, 0; ; {
		if d == 0 {
			seen[corner] = true
		}
		corner = corner.Add(steps[d])
		switch left := is(corner.Add(hand[(d+3)%4])); {
		case !is(corner.Add(hand[d])): // to the right
			d = (d + 1) % 4
			if at, again := crossed[corner]; again && at < len(line) && line[at] == corner {
				closed(line[at:])
				line = line[:at]
			}
			if left {
				crossed[corner] = len(line)
			}
			line = append(line, corner)
		case left:
			d = (d + 3) % 4
			line = append(line, corner)
		}
		if corner == start && d == 0 {
			closed(line)
			return lines
		}
	}
}
