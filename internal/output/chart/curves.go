// Package chart draws curves as SVG pictures. A picture needs no script, no font and
// no other file.
package chart

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
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
	plotLeft    = 72
	plotRight   = 820 // names stand to the right of it
	panelHeight = 264 // with title and axis
	plotHeight  = 190
	head        = 78
	bins        = 180 // places along x
)

// Write writes the picture.
func (c Chart) Write(w io.Writer) error {
	var out strings.Builder
	height := head + len(c.Panels)*panelHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="%s" font-size="12" fill="#606870">`+"\n",
		width, height, width, height, Fonts)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&out, `<text x="20" y="36" font-size="20" fill="#111">%s</text>`+"\n", html.EscapeString(c.Title))
	fmt.Fprintf(&out, `<text x="20" y="57">%s</text>`+"\n", html.EscapeString(c.Subtitle))
	var all []Line
	for _, p := range c.Panels {
		all = append(all, p.Lines...)
	}
	xs := Span(all, func(l Line) []float64 { return l.X })
	for i, p := range c.Panels {
		fmt.Fprintf(&out, `<g transform="translate(0 %d)">`+"\n", head+i*panelHeight)
		p.draw(&out, xs, c.X)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// draw draws the panel over an axis xs of the name x. Its frame is plotHeight high, 24 below the top.
func (p Panel) draw(out *strings.Builder, xs Interval, x string) {
	const top, bottom = 24, 24 + plotHeight
	ys := Span(p.Lines, func(l Line) []float64 { return l.Y })
	air := 0.05 * (ys.High - ys.Low)
	ys = Interval{ys.Low - air, ys.High + air}
	if p.Zero {
		ys.Low = min(0, ys.Low+air)
	}
	across := func(v float64) float64 { return plotLeft + xs.Share(v)*(plotRight-plotLeft) }
	up := func(v float64) float64 { return bottom - ys.Share(v)*plotHeight }
	fmt.Fprintf(out, `<text x="%d" y="14" text-anchor="middle" font-size="14" fill="#333">%s</text>`+"\n", (plotLeft+plotRight)/2, html.EscapeString(p.Title))
	for _, v := range Ticks(ys, 5) {
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#e4e7ea"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft, up(v), plotRight, plotLeft-8, up(v)+4, Number(v))
	}
	for _, v := range Ticks(xs, 5) {
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", across(v), bottom+16, Number(v))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotRight)/2, bottom+32, html.EscapeString(x))
	var names []label
	for i, line := range p.Lines {
		places := line.places(xs)
		if len(places) == 0 {
			continue
		}
		var along, lower []string
		for _, v := range places {
			along = append(along, fmt.Sprintf("%.1f %.1f", across(v.x), up(v.mean)))
			lower = append(lower, fmt.Sprintf("%.1f %.1f", across(v.x), up(v.low)))
		}
		if line.Band {
			for _, v := range slices.Backward(places) {
				lower = append(lower, fmt.Sprintf("%.1f %.1f", across(v.x), up(v.high)))
			}
			fmt.Fprintf(out, `<path d="M%sZ" fill="%s" fill-opacity="0.15"/>`+"\n", strings.Join(lower, "L"), CSS(Ink(i)))
		}
		fmt.Fprintf(out, `<path d="M%s" fill="none" stroke="%s" stroke-width="1.6"%s/>`+"\n", strings.Join(along, "L"), CSS(Ink(i)), map[bool]string{true: ` stroke-dasharray="4 3"`}[Dashed(i)])
		for _, v := range places {
			if line.Dots || len(places) == 1 {
				fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="%s"/>`+"\n", across(v.x), up(v.mean), CSS(Ink(i)))
			}
		}
		last := places[len(places)-1]
		names = append(names, label{line.Name + " " + strconv.FormatFloat(last.mean, 'g', 3, 64), Ink(i), up(last.mean)})
	}
	for _, n := range spread(names, top, bottom) {
		fmt.Fprintf(out, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", plotRight+10, n.y+4, CSS(n.colour), html.EscapeString(n.text))
	}
}

// place is the points of a line at one place along x: their mean, smallest and largest y.
type place struct{ x, mean, low, high float64 }

// places gathers the points of the line, place by place.
func (l Line) places(xs Interval) []place {
	var out []place
	last, count := -1, 0
	for i, y := range l.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		bin := int(xs.Share(l.X[i]) * (bins - 1))
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
