//go:build !js

// Package chart draws curves, forest plots, grids and dendrograms as SVG pictures. A picture needs
// no script, no font and no other file. Curves are gonum's.
package chart

import (
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is panels, one below the other, over one x axis.
type Chart struct {
	Title    string
	Subtitle string
	X        string // name of the x axis
	Panels   []Panel
}

// Panel is curves in one frame.
type Panel struct {
	Title string
	Zero  bool // y begins at 0
	Lines []Line
}

// Measures in pixels.
const (
	width       = 960
	plotRight   = 820 // names stand to the right of it
	panelHeight = 264
	head        = 78
	bins        = 180 // places along x
)

// Write writes the picture.
func (c Chart) Write(w io.Writer) error {
	canvas := vgsvg.New(vg.Length(width), vg.Length(head+len(c.Panels)*panelHeight))
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	top := page.Max.Y
	page.FillText(textStyle(20, color.RGBA{17, 17, 17, 255}), vg.Point{X: 20, Y: top - 36}, c.Title)
	page.FillText(textStyle(plotText, axisInk), vg.Point{X: 20, Y: top - 57}, c.Subtitle)
	var all []Line
	for _, p := range c.Panels {
		all = append(all, p.Lines...)
	}
	xs := span(all, func(l Line) []float64 { return l.X })
	var plots [][]*plot.Plot
	for _, p := range c.Panels {
		plots = append(plots, []*plot.Plot{p.plot(xs, c.X)})
	}
	if len(plots) > 0 {
		tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadLeft: 16, PadRight: width - plotRight, PadTop: head, PadBottom: 12, PadY: 22}
		for i, row := range plot.Align(plots, tiles, page) {
			plots[i][0].Draw(row[0])
		}
	}
	return writeSVG(w, canvas)
}

// plot is the panel over an axis xs.
func (p Panel) plot(xs interval, xName string) *plot.Plot {
	ys := span(p.Lines, func(l Line) []float64 { return l.Y })
	air := 0.05 * (ys.high - ys.low)
	out := New(xName, "")
	out.Title.Text, out.Title.TextStyle, out.Title.Padding = p.Title, textStyle(14, color.RGBA{51, 51, 51, 255}), 8
	out.Title.TextStyle.XAlign = draw.XCenter
	out.Add(panelLines{p.Lines, xs})
	out.X.Min, out.X.Max, out.Y.Min, out.Y.Max = xs.low, xs.high, ys.low-air, ys.high+air
	if p.Zero {
		out.Y.Min = min(0, ys.low)
	}
	return out
}

// panelLines draws the lines of a panel, and their names at their ends.
type panelLines struct {
	lines []Line
	xs    interval
}

// Plot draws the lines.
func (l panelLines) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(v place, high float64) vg.Point { return vg.Point{X: x(v.x), Y: y(high)} }
	var names []label
	for i, line := range l.lines {
		places := line.places(l.xs)
		if len(places) == 0 {
			continue
		}
		if line.Band {
			var around []vg.Point
			for _, v := range places {
				around = append(around, at(v, v.high))
			}
			for _, v := range slices.Backward(places) {
				around = append(around, at(v, v.low))
			}
			pale := Ink(i)
			c.FillPolygon(color.NRGBA{pale.R, pale.G, pale.B, 38}, around)
		}
		var along []vg.Point
		for _, v := range places {
			along = append(along, at(v, v.mean))
		}
		c.StrokeLines(lineStyle(i), along)
		for _, v := range along {
			if line.Dots || len(places) == 1 {
				c.DrawGlyph(dot(i), v)
			}
		}
		last := places[len(places)-1]
		names = append(names, label{line.Name + " " + strconv.FormatFloat(last.mean, 'g', 3, 64), Ink(i), float64(y(last.mean))})
	}
	for _, n := range spread(names, float64(c.Min.Y), float64(c.Max.Y)) {
		c.FillText(textStyle(plotText, n.colour), vg.Point{X: c.Max.X + 10, Y: vg.Length(n.y) - 4}, n.text)
	}
}

// place is the points of a line at one place along x: their mean, smallest and largest y.
type place struct{ x, mean, low, high float64 }

// places gathers the points of the line, place by place.
func (l Line) places(xs interval) []place {
	var out []place
	last, count := -1, 0
	for i, y := range l.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		bin := int(xs.share(l.X[i]) * (bins - 1))
		if bin != last || l.Dots {
			out, last, count = append(out, place{l.X[i], y, y, y}), bin, 1
			continue
		}
		at := &out[len(out)-1]
		count++
		at.x += (l.X[i] - at.x) / float64(count)
		at.mean += (y - at.mean) / float64(count)
		at.low, at.high = min(at.low, y), max(at.high, y)
	}
	return out
}
