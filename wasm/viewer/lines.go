//go:build js

package main

import (
	"image/color"
	"math"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"
)

// mostPoints bounds one DrawTriangles call: indices have 16 bits, and a stroked point makes at most
// 8 vertices here.
const mostPoints = 7500

// casing is the dark edge under every line, by which the line shows on any photograph.
var casing = color.NRGBA{A: 150}

// strokeContour draws the lines over a dark casing.
func (g *game) strokeContour(stage *ebiten.Image, c contour) {
	path := func(width float64, colour color.NRGBA) {
		s := g.newStroker(stage, width, colour)
		for i, start := range c.starts {
			end := len(c.points) / 2
			if i+1 < len(c.starts) {
				end = int(c.starts[i+1])
			}
			s.closedLine(c.points[2*start:2*end], c.dash)
		}
		s.flush()
	}
	path(c.width+2, casing)
	path(c.width, c.colour)
}

// stroker gathers line pieces and draws them in as few calls as fit.
type stroker struct {
	g        *game
	stage    *ebiten.Image
	path     vector.Path
	points   int
	options  vector.StrokeOptions
	colour   [4]float32 // premultiplied
	vertices []ebiten.Vertex
	indices  []uint16
}

func (g *game) newStroker(stage *ebiten.Image, width float64, colour color.NRGBA) *stroker {
	a := float32(colour.A) / 255
	return &stroker{
		g: g, stage: stage,
		options: vector.StrokeOptions{Width: float32(width * g.density), LineJoin: vector.LineJoinBevel, MiterLimit: 2},
		colour:  [4]float32{float32(colour.R) / 255 * a, float32(colour.G) / 255 * a, float32(colour.B) / 255 * a, a},
	}
}

// closedLine adds one closed line given in photograph pixels. It skips points that are nearer than
// three quarters of a device pixel to the one before.
func (s *stroker) closedLine(points []float32, dash float64) {
	var line [][2]float32
	for i := 0; i+1 < len(points); i += 2 {
		x, y := s.g.onScreen(float64(points[i]), float64(points[i+1]))
		if n := len(line); n > 0 && math.Hypot(float64(x-line[n-1][0]), float64(y-line[n-1][1])) < 0.75 {
			continue
		}
		line = append(line, [2]float32{x, y})
	}
	if len(line) < 3 {
		return
	}
	if dash > 0 {
		s.dashed(append(line, line[0]), dash*s.g.density)
		return
	}
	if len(line) > mostPoints {
		for line = append(line, line[0]); len(line) > 1; line = line[min(mostPoints, len(line))-1:] {
			s.open(line[:min(mostPoints, len(line))])
		}
		return
	}
	s.open(line)
	s.path.Close()
}

// open adds an open line of at most mostPoints.
func (s *stroker) open(line [][2]float32) {
	s.room(len(line))
	s.path.MoveTo(line[0][0], line[0][1])
	for _, p := range line[1:] {
		s.path.LineTo(p[0], p[1])
	}
}

// dashed adds the line as dashes of a length in device pixels, with gaps of 0.7 of that.
func (s *stroker) dashed(line [][2]float32, dash float64) {
	on, left := true, dash
	s.room(2)
	s.path.MoveTo(line[0][0], line[0][1])
	for i := 1; i < len(line); i++ {
		x0, y0 := float64(line[i-1][0]), float64(line[i-1][1])
		dx, dy := float64(line[i][0])-x0, float64(line[i][1])-y0
		length := math.Hypot(dx, dy)
		for at := 0.0; at < length; {
			step := math.Min(left, length-at)
			at, left = at+step, left-step
			x, y := float32(x0+dx*at/length), float32(y0+dy*at/length)
			if on {
				s.points++
				s.path.LineTo(x, y)
			}
			if left <= 1e-9 {
				if on = !on; !on {
					left = 0.7 * dash
					continue
				}
				left = dash
				s.room(2)
				s.path.MoveTo(x, y)
			}
		}
	}
}

// room flushes when n more points might not fit into one call.
func (s *stroker) room(n int) {
	if s.points+n > mostPoints {
		s.flush()
	}
	s.points += n
}

// flush draws what was gathered.
func (s *stroker) flush() {
	s.vertices, s.indices = s.path.AppendVerticesAndIndicesForStroke(s.vertices[:0], s.indices[:0], &s.options)
	for i := range s.vertices {
		v := &s.vertices[i]
		v.SrcX, v.SrcY = 1, 1
		v.ColorR, v.ColorG, v.ColorB, v.ColorA = s.colour[0], s.colour[1], s.colour[2], s.colour[3]
	}
	if len(s.indices) > 0 {
		s.stage.DrawTriangles(s.vertices, s.indices, s.g.whitePixels(), &ebiten.DrawTrianglesOptions{
			AntiAlias: true, FillRule: ebiten.FillRuleNonZero, ColorScaleMode: ebiten.ColorScaleModePremultipliedAlpha,
		})
	}
	s.path = vector.Path{}
	s.points = 0
}

func (g *game) whitePixels() *ebiten.Image {
	if g.white == nil {
		g.white = ebiten.NewImage(3, 3)
		g.white.Fill(color.White)
	}
	return g.white
}

// drawRegion draws the square as a thin line. While it is placed by hand it has handles, and the
// rest of the stage is dimmed.
func (g *game) drawRegion(stage *ebiten.Image) {
	r := g.region
	if !r.shown {
		return
	}
	x0, y0 := g.onScreen(r.x, r.y)
	x1, y1 := g.onScreen(r.x+r.side, r.y+r.side)
	d := float32(g.density)
	b := stage.Bounds()
	left, top, right, bottom := float32(b.Min.X), float32(b.Min.Y), float32(b.Max.X), float32(b.Max.Y)
	if r.active {
		dim := color.NRGBA{A: 130}
		fill := func(ax, ay, bx, by float32) {
			if bx > ax && by > ay {
				vector.DrawFilledRect(stage, ax, ay, bx-ax, by-ay, dim, false)
			}
		}
		fill(left, top, right, min(y0, bottom))
		fill(left, max(y1, top), right, bottom)
		fill(left, max(y0, top), min(x0, right), min(y1, bottom))
		fill(max(x1, left), max(y0, top), right, min(y1, bottom))
	}
	line := color.NRGBA{R: 255, G: 255, B: 255, A: 150}
	if r.active {
		line.A = 255
	}
	vector.StrokeRect(stage, x0, y0, x1-x0, y1-y0, 2.5*d, color.NRGBA{A: 90}, true)
	vector.StrokeRect(stage, x0, y0, x1-x0, y1-y0, d, line, true)
	if !r.active {
		return
	}
	for _, corner := range [][2]float32{{x0, y0}, {x1, y0}, {x0, y1}, {x1, y1}} {
		vector.DrawFilledRect(stage, corner[0]-6*d, corner[1]-6*d, 12*d, 12*d, color.NRGBA{A: 160}, true)
		vector.DrawFilledRect(stage, corner[0]-5*d, corner[1]-5*d, 10*d, 10*d, color.White, true)
	}
}
