// Package overlay turns probability maps into what the stage draws over the photograph: contour lines and small maps of bytes.
package overlay

import "math"

// Lines are closed lines, the higher values on their left. Points holds x, y, x, y, … ; Starts the index of each line's first point.
type Lines struct {
	Points []float32
	Starts []uint32
}

// Trace follows the level set of a map of width × height values, row by row, with bilinear interpolation between pixel centres.
// A point (x, y) is in the map's pixels, the centre of the first pixel at (0.5, 0.5). Outside the map everything counts as below
// the level, so every line closes. Points that lie within tolerance pixels of the line without them are dropped.
// Source: marching squares (Lorensen and Cline 1987 in two dimensions); saddles join by the mean of the four corners.
func Trace(values []float32, width, height int, level, tolerance float32) Lines {
	if len(values) < width*height {
		panic("overlay: fewer values than pixels")
	}
	t := tracer{values: values, width: width, height: height, level: level, next: map[int]int{}}
	t.link()
	return t.follow(tolerance)
}

// tracer holds the crossings. An edge of the grid between pixel centres is named by its first corner (x, y), each from −1, and its
// direction: 2·(row·stride + column), plus one for a vertical edge.
type tracer struct {
	values        []float32
	width, height int
	level         float32
	next          map[int]int // from the edge where a line enters a cell to the edge where it leaves
	order         []int       // the entering edges as found, so that the result does not depend on map order
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

func (t *tracer) join(from, to int) {
	t.next[from] = to
	t.order = append(t.order, from)
}

// link visits every cell of four neighbouring pixel centres and joins its crossed edges, the higher side on the left as seen with
// y pointing down.
func (t *tracer) link() {
	for y := -1; y < t.height; y++ {
		for x := -1; x < t.width; x++ {
			a, b, c, d := t.at(x, y), t.at(x+1, y), t.at(x+1, y+1), t.at(x, y+1) // clockwise from the top left
			code := 0
			for i, v := range [4]float32{a, b, c, d} {
				if v >= t.level {
					code |= 1 << i
				}
			}
			if code == 0 || code == 15 {
				continue
			}
			top, right := t.edge(x, y, false), t.edge(x+1, y, true)
			bottom, left := t.edge(x, y+1, false), t.edge(x, y, true)
			switch code {
			case 1:
				t.join(top, left)
			case 2:
				t.join(right, top)
			case 3:
				t.join(right, left)
			case 4:
				t.join(bottom, right)
			case 6:
				t.join(bottom, top)
			case 7:
				t.join(bottom, left)
			case 8:
				t.join(left, bottom)
			case 9:
				t.join(top, bottom)
			case 11:
				t.join(right, bottom)
			case 12:
				t.join(left, right)
			case 13:
				t.join(top, right)
			case 14:
				t.join(left, top)
			case 5, 10:
				joined := (a+b+c+d)/4 >= t.level
				switch {
				case code == 5 && joined:
					t.join(top, right)
					t.join(bottom, left)
				case code == 5:
					t.join(top, left)
					t.join(bottom, right)
				case joined:
					t.join(left, top)
					t.join(right, bottom)
				default:
					t.join(right, top)
					t.join(left, bottom)
				}
			}
		}
	}
}

// point is where the level crosses an edge. Towards the outside of the map the crossing is at the border of the pixel.
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
			x, y := t.point(edge)
			line = append(line, x, y)
			to, ok := t.next[edge]
			if !ok {
				break
			}
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

// simplify drops points of a closed line that lie within tolerance of the chord between the last kept point and the next one, and
// keeps at least one point in 16 so that error cannot add up along a gentle curve.
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
