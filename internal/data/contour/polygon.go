package contour

import (
	"math"

	"mrprism/shaders/pulse"
)

// Point is a place in pixels: (0, 0) is the outer corner of the first pixel, and y points down.
type Point [2]float64

// Polygon is an outline and the holes in it, each a closed line whose last point repeats the first.
// Outlines have a positive area by the shoelace formula, holes a negative one, as RFC 7946 wants.
type Polygon [][]Point

// ring is a closed line with its area by the shoelace formula.
type ring struct {
	points    []Point
	area      float64
	low, high Point // corners of the box around it
}

// Polygons joins the lines to polygons; a hole belongs to the smallest outline around it. Points
// are rounded to hundredths of a pixel.
func (l Lines) Polygons() []Polygon {
	var outlines, holes []ring
	for i := range l.Starts {
		pulse.Beat()
		r := newRing(l.line(i))
		switch {
		case r.area > 0:
			outlines = append(outlines, r)
		case r.area < 0:
			holes = append(holes, r)
		}
	}
	polygons := make([]Polygon, len(outlines))
	for i, r := range outlines {
		polygons[i] = Polygon{r.points}
	}
	for _, hole := range holes {
		pulse.Beat()
		around := -1
		for i, outline := range outlines {
			if outline.holds(hole.points[0]) && (around < 0 || outline.area < outlines[around].area) {
				around = i
			}
		}
		if around >= 0 {
			polygons[around] = append(polygons[around], hole.points)
		}
	}
	return polygons
}

// newRing rounds the points x, y, x, y, … of a closed line, and leaves out those that repeat.
func newRing(line []float32) ring {
	r := ring{low: Point{math.Inf(1), math.Inf(1)}, high: Point{math.Inf(-1), math.Inf(-1)}}
	for i := 0; i < len(line); i += 2 {
		p := Point{hundredth(line[i]), hundredth(line[i+1])}
		if n := len(r.points); n == 0 || r.points[n-1] != p {
			r.points = append(r.points, p)
		}
	}
	if n := len(r.points); r.points[0] != r.points[n-1] {
		r.points = append(r.points, r.points[0])
	}
	for i, p := range r.points {
		if i > 0 {
			before := r.points[i-1]
			r.area += (before[0]*p[1] - p[0]*before[1]) / 2
		}
		for k := range p {
			r.low[k], r.high[k] = min(r.low[k], p[k]), max(r.high[k], p[k])
		}
	}
	return r
}

func hundredth(v float32) float64 { return math.Round(100*float64(v)) / 100 }

// holds reports whether a point lies within the ring, by the even-odd rule.
func (r *ring) holds(p Point) bool {
	if p[0] < r.low[0] || p[0] > r.high[0] || p[1] < r.low[1] || p[1] > r.high[1] {
		return false
	}
	inside := false
	for i := 1; i < len(r.points); i++ {
		a, b := r.points[i-1], r.points[i]
		if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0]+(b[0]-a[0])*(p[1]-a[1])/(b[1]-a[1]) {
			inside = !inside
		}
	}
	return inside
}
