// Package contour traces the outlines of a map, and writes them as SVG and as GeoJSON.
package contour

import (
	"math"

	"mrprism/shaders/pulse"
)

// Lines are closed lines. Those around higher values have a positive area by the shoelace formula,
// those around holes a negative one. Points holds x, y, x, y, …; Starts
// holds the index of each line's first point.
type Lines struct {
	Points []float32
	Starts []uint32
}

// line is the points of line i.
func (l Lines) line(i int) []float32 {
	end := uint32(len(l.Points) / 2)
	if i+1 < len(l.Starts) {
		end = l.Starts[i+1]
	}
	return l.Points[2*l.Starts[i] : 2*end]
}

// Trace follows the level set of a map of width × height values, row by row, with bilinear
// interpolation between pixel centres. A point (x, y) is in the map's pixels; the centre of the
// first pixel is (0.5, 0.5). Outside the map everything counts as below the level, so that every
// line closes. Trace drops a point if it lies within tolerance pixels of the line without it.
// Source: marching squares (Lorensen and Cline 1987, in two dimensions). The mean of the four
// corners decides how a saddle joins.
func Trace(values []float32, width, height int, level, tolerance float32) Lines {
	if len(values) < width*height {
		panic("contour: fewer values than pixels")
	}
	t := tracer{values: values, width: width, height: height, level: level, next: map[int]int{}}
	t.link()
	return t.follow(tolerance)
}

// tracer holds the crossings of a grid whose corners are pixel centres. An edge has the number
// 2·(row·stride + column) of its first corner (x, y), each from −1, plus one if the edge is
// vertical.
type tracer struct {
	values        []float32
	width, height int
	level         float32
	next          map[int]int // from the edge where a line enters a cell to the edge where it leaves
	order         []int       // the entering edges in the order found, since a map has none
}

func (t *tracer) at(x, y int) float32 {
	if x < 0 || y < 0 || x >= t.width || y >= t.height {
		return float32(math.Inf(-1))
	}
	return t.values[y*t.width+x]
}

func (t *tracer) edge(x, y int, vertical bool) int {
	e := 2 * ((y+1)*(t.width+2) + x + 1)
	if vertical {
		e++
	}
	return e
}

// The edges of a cell.
const (
	top = iota
	right
	bottom
	left
)

// crossings are the edges where a line enters and leaves a cell. The index says which corners are
// at the level or above: bit 0 is the top left one, the others follow clockwise. y points down.
var crossings = [16][][2]int{
	1: {{top, left}}, 2: {{right, top}}, 3: {{right, left}}, 4: {{bottom, right}},
	5: {{top, left}, {bottom, right}}, 6: {{bottom, top}}, 7: {{bottom, left}}, 8: {{left, bottom}},
	9: {{top, bottom}}, 10: {{right, top}, {left, bottom}}, 11: {{right, bottom}}, 12: {{left, right}},
	13: {{top, right}}, 14: {{left, top}},
}

// bands are the crossings of saddles whose high corners are joined.
var bands = map[int][][2]int{5: {{top, right}, {bottom, left}}, 10: {{left, top}, {right, bottom}}}

// link visits every cell of four neighbouring pixel centres and joins its crossed edges.
func (t *tracer) link() {
	for y := -1; y < t.height; y++ {
		pulse.Beat()
		var above, below []float32 // of the cells, where both are in the map
		if y >= 0 && y+1 < t.height {
			above, below = t.values[y*t.width:][:t.width], t.values[(y+1)*t.width:][:t.width]
		}
		for x := -1; x < t.width; x++ {
			if x >= 0 && x+1 < len(above) { // most cells are crossed by no line
				high := above[x] >= t.level
				if high == (above[x+1] >= t.level) && high == (below[x] >= t.level) && high == (below[x+1] >= t.level) {
					continue
				}
			}
			code, sum := 0, float32(0)
			for i, v := range [4]float32{t.at(x, y), t.at(x+1, y), t.at(x+1, y+1), t.at(x, y+1)} {
				if sum += v; v >= t.level {
					code |= 1 << i
				}
			}
			lines := crossings[code]
			if len(lines) == 2 && sum/4 >= t.level {
				lines = bands[code]
			}
			if len(lines) == 0 {
				continue
			}
			edges := [4]int{t.edge(x, y, false), t.edge(x+1, y, true), t.edge(x, y+1, false), t.edge(x, y, true)}
			for _, line := range lines {
				t.next[edges[line[0]]] = edges[line[1]]
				t.order = append(t.order, edges[line[0]])
			}
		}
	}
}

// point is where the level crosses an edge. On an edge to the outside of the map it is the border
// of the pixel.
func (t *tracer) point(edge int) (float32, float32) {
	vertical := edge%2 == 1
	cell := edge / 2
	x, y := cell%(t.width+2)-1, cell/(t.width+2)-1
	x2, y2 := x+1, y
	if vertical {
		x2, y2 = x, y+1
	}
	p, q := t.at(x, y), t.at(x2, y2)
	f := float32(0.5)
	if !math.IsInf(float64(p), 0) && !math.IsInf(float64(q), 0) && p != q {
		f = (t.level - p) / (q - p)
	}
	return float32(x) + 0.5 + f*float32(x2-x), float32(y) + 0.5 + f*float32(y2-y)
}

// follow walks the joined edges into closed lines.
func (t *tracer) follow(tolerance float32) Lines {
	var lines Lines
	for _, start := range t.order {
		if _, open := t.next[start]; !open {
			continue
		}
		lines.Starts = append(lines.Starts, uint32(len(lines.Points)/2))
		var line []float32
		for edge := start; ; {
			if len(line)%2048 == 0 {
				pulse.Beat()
			}
			x, y := t.point(edge)
			line = append(line, x, y)
			to := t.next[edge] // exists, since every line closes
			delete(t.next, edge)
			if to == start {
				break
			}
			edge = to
		}
		lines.Points = append(lines.Points, simplify(line, tolerance)...)
	}
	return lines
}

// simplify drops points of a closed line that lie within tolerance of the chord between the last
// kept point and the next one. It keeps at least one point in 16, so that the error cannot add up
// along a gentle curve.
func simplify(line []float32, tolerance float32) []float32 {
	n := len(line) / 2
	if tolerance <= 0 || n < 8 {
		return line
	}
	kept := append([]float32(nil), line[:2]...)
	last := 0
	for i := 1; i < n-1; i++ {
		ax, ay := line[2*last], line[2*last+1]
		bx, by := line[2*i+2], line[2*i+3]
		dx, dy := bx-ax, by-ay
		length := float32(math.Hypot(float64(dx), float64(dy)))
		within := i-last < 16
		for j := last + 1; within && j <= i; j++ {
			distance := float32(math.Abs(float64((line[2*j]-ax)*dy - (line[2*j+1]-ay)*dx)))
			within = distance <= tolerance*length
		}
		if !within {
			kept = append(kept, line[2*i], line[2*i+1])
			last = i
		}
	}
	return append(kept, line[2*n-2:2*n]...)
}
