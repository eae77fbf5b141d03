// Package chart draws curves over a common axis, and forest plots, as SVG pictures. A picture
// needs no script, no font and no other file.
package chart

import (
	"cmp"
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

// Line is a curve whose X ascends. The picture has 180 places along x. For the points of one place
// it shows their mean and, with Band, a band from the smallest to the largest. It leaves out values
// that are not finite.
type Line struct {
	Name string // stands at the curve's end, in its colour
	X, Y []float64
	Band bool
	Dots bool // marks every point; for few points
}

// Measures in pixels.
const (
	width       = 960
	plotLeft    = 72
	plotRight   = 820 // names stand to the right of it
	plotHeight  = 190
	panelHeight = plotHeight + 74
	head        = 78
	bins        = 180 // places along x
)

// fonts are tried in this order.
const fonts = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

// colours can be told apart by most eyes, on paper too: those of Okabe and Ito (2008) but yellow.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444"}

// Write writes the picture.
func (c Chart) Write(w io.Writer) error {
	var out strings.Builder
	height := head + len(c.Panels)*panelHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="%s" font-size="12" fill="#333">`+"\n", width, height, width, height, fonts)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&out, `<text x="%d" y="36" font-size="20" font-weight="600" fill="#111">%s</text>`+"\n", plotLeft, html.EscapeString(c.Title))
	fmt.Fprintf(&out, `<text x="%d" y="57" fill="#666">%s</text>`+"\n", plotLeft, html.EscapeString(c.Subtitle))
	var x []Line
	for _, p := range c.Panels {
		x = append(x, p.Lines...)
	}
	xs := span(x, func(l Line) []float64 { return l.X })
	for i, p := range c.Panels {
		p.draw(&out, head+i*panelHeight, xs, c.X)
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// draw draws the panel with its upper edge at top.
func (p Panel) draw(out *strings.Builder, top int, xs interval, xName string) {
	ys := span(p.Lines, func(l Line) []float64 { return l.Y })
	air := 0.05 * (ys.high - ys.low)
	ys = interval{ys.low - air, ys.high + air}
	if p.Zero {
		ys.low = min(0, ys.low+air)
	}
	upper := float64(top + 30)
	lower := upper + plotHeight
	placeX := func(v float64) float64 { return plotLeft + xs.share(v)*(plotRight-plotLeft) }
	placeY := func(v float64) float64 { return lower - ys.share(v)*plotHeight }

	fmt.Fprintf(out, `<text x="%d" y="%d" font-size="14" font-weight="600">%s</text>`+"\n", plotLeft, top+16, html.EscapeString(p.Title))
	for _, v := range ticks(ys, 5) {
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#e6e6e6"/><text x="%d" y="%.1f" text-anchor="end" fill="#666">%s</text>`+"\n",
			plotLeft, placeY(v), plotRight, plotLeft-8, placeY(v)+4, number(v))
	}
	fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#999"/>`+"\n", plotLeft, lower, plotRight)
	for _, v := range ticks(xs, 8) {
		fmt.Fprintf(out, `<path d="M%.1f %.1fv5" stroke="#999"/><text x="%.1f" y="%.1f" text-anchor="middle" fill="#666">%s</text>`+"\n",
			placeX(v), lower, placeX(v), lower+18, number(v))
	}
	fmt.Fprintf(out, `<text x="%d" y="%.1f" fill="#666">%s</text>`+"\n", plotRight+32, lower+18, html.EscapeString(xName))

	var names []label
	for i, line := range p.Lines {
		colour := colours[i%len(colours)]
		places := line.places(xs)
		if len(places) == 0 {
			continue
		}
		if line.Band {
			fmt.Fprintf(out, `<path d="%s" fill="%s" fill-opacity="0.15"/>`+"\n", around(places, placeX, placeY), colour)
		}
		fmt.Fprintf(out, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/>`+"\n",
			along(places, placeX, placeY), colour)
		for _, at := range places {
			if line.Dots || len(places) == 1 {
				fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="%s"/>`+"\n", placeX(at.x), placeY(at.mean), colour)
			}
		}
		last := places[len(places)-1]
		names = append(names, label{fmt.Sprintf("%s %s", line.Name, strconv.FormatFloat(last.mean, 'g', 3, 64)), colour, placeY(last.mean)})
	}
	for _, l := range spread(names, upper, lower) {
		fmt.Fprintf(out, `<text x="%d" y="%.1f" fill="%s" font-weight="500">%s</text>`+"\n", plotRight+10, l.y+4, l.colour, html.EscapeString(l.text))
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

// along returns the SVG path through the means.
func along(places []place, x, y func(float64) float64) string {
	var path strings.Builder
	for i, at := range places {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(at.x), y(at.mean))
	}
	return path.String()
}

// around returns the SVG path around the band from smallest to largest.
func around(places []place, x, y func(float64) float64) string {
	var path strings.Builder
	for i, at := range places {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(at.x), y(at.high))
	}
	for _, at := range slices.Backward(places) {
		fmt.Fprintf(&path, "L%.1f %.1f", x(at.x), y(at.low))
	}
	return path.String() + "Z"
}

// label is a line's name at its end.
type label struct {
	text, colour string
	y            float64
}

// spread moves labels apart that would cover one another.
func spread(labels []label, upper, lower float64) []label {
	const apart = 15
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := range labels {
		labels[i].y = max(labels[i].y, upper+float64(i)*apart)
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+apart)
		}
	}
	for i := range slices.Backward(labels) { // and back up, should the last have come too low
		labels[i].y = min(labels[i].y, lower-float64(len(labels)-1-i)*apart)
	}
	return labels
}

// interval is a range of values.
type interval struct{ low, high float64 }

// share is the place of a value in the interval: 0 at low, 1 at high.
func (s interval) share(v float64) float64 { return (v - s.low) / (s.high - s.low) }

// span is the interval of all finite values. If there is only one, it is in the middle of an
// interval of width 1. If there is none, the interval is 0 to 1.
func span(lines []Line, of func(Line) []float64) interval {
	s := interval{math.Inf(1), math.Inf(-1)}
	for _, l := range lines {
		for _, v := range of(l) {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				s = interval{min(s.low, v), max(s.high, v)}
			}
		}
	}
	switch {
	case s.low > s.high:
		return interval{0, 1}
	case s.low == s.high:
		return interval{s.low - 0.5, s.high + 0.5}
	}
	return s
}

// ticks are about n round values over the interval.
func ticks(s interval, n int) []float64 {
	raw := (s.high - s.low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, f := range []float64{1, 2, 5} {
		if f*unit >= raw {
			step = f * unit
			break
		}
	}
	var out []float64
	for i := math.Ceil(s.low/step - 1e-9); i*step <= s.high+1e-9*step; i++ {
		out = append(out, i*step+0) // no −0
	}
	return out
}

// number formats a tick.
func number(v float64) string {
	if v != 0 && math.Abs(v) < 1e-4 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}
