// Package graphs draws forest plots, grids of differences and plots with intervals, as SVG.
package graphs

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"mrprism/internal/study/chart"
)

// Forest is a forest plot: measured effects with their intervals beside the line of no effect, 0.
// It is narrow: a telephone shows its text large enough.
type Forest struct {
	Title, Subtitle string
	Axis            string   // what an effect is, with its unit
	Below, Above    string   // what an effect below and above 0 means
	Shaded          bool     // effects have signs, and those above 0 are on a shaded ground
	Numbers         string   // over the column of estimates; empty: no column
	Digits          int      // of the estimates after the point
	Series          []string // names of the markers, for the legend
	Groups          []Group
}

// Group is rows under one heading. The part of Name after " — " is drawn lighter.
type Group struct {
	Name string
	Rows []Row
}

// Row is effects under one label. Each effect with an interval has a line of its own; where no
// effect has one, all share a line and the column shows their mean.
type Row struct {
	Name    string
	Effects []Effect
}

// Effect is one measured difference.
type Effect struct {
	Series              int
	Estimate, Low, High float64 // Low and High are NaN where no interval is known
	Open                bool    // the interval covers 0: a hollow marker, a thin number
	Summary             bool    // a diamond from Low to High
}

// bounded reports whether the effect has an interval.
func (e Effect) bounded() bool { return !math.IsNaN(e.Low) }

// Measures of a forest plot in pixels.
const (
	forestWidth  = 560
	forestMargin = 16
	forestLeft   = 92
	forestRight  = forestWidth - forestMargin
	forestColumn = 66 // of the estimates
	lineHeight   = 17
	headHeight   = 27 // of a group's heading
	gap          = 4  // under a group
	glyph        = 8.2
)

// Write writes the picture.
func (f Forest) Write(w io.Writer) error {
	var body strings.Builder
	y := f.head(&body)
	right := float64(forestRight - 6)
	if f.Numbers != "" {
		right = forestRight - forestColumn
	}
	xs := f.span()
	place := func(v float64) float64 { return forestLeft + xs.Share(v)*(right-forestLeft) }
	top := y + 2 // under the edge of the first heading
	var rows strings.Builder
	for _, g := range f.Groups {
		y = f.group(&rows, g, y, place)
	}
	zero := place(0)
	if f.Shaded {
		fmt.Fprintf(&body, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#eaf5ef"/>`+"\n", zero, top, right-zero, y-top)
	}
	for _, v := range chart.Ticks(xs, 6) {
		fmt.Fprintf(&body, `<path d="M%.1f %dV%d" stroke="#e3e6e9"/>`, place(v), top, y)
		fmt.Fprintf(&body, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%s</text>`+"\n", place(v), y+18, signed(v, -1, f.Shaded))
	}
	fmt.Fprintf(&body, `<path d="M%.1f %dV%d" stroke="#444" stroke-width="1.5"/>`+"\n", zero, top, y)
	body.WriteString(rows.String())
	fmt.Fprintf(&body, `<path d="M%d %dH%.1f" stroke="#888"/>`+"\n", forestLeft, y, right)
	text(&body, forestRight, top+14, "#555", `text-anchor="end"`, f.Numbers)
	f.directions(&body, y+40)
	y += 48
	for _, line := range wrap(f.Axis, 15) {
		y += 19
		text(&body, forestMargin, y-6, "#555", "", line)
	}
	return framed(w, forestWidth, y+10, f.Title, body.String())
}

// framed writes a picture with a frame around its body.
func framed(w io.Writer, width, height int, title, body string) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="%s" font-size="14" fill="#222">
<title>%s</title>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="#fff" stroke="#d5d9dd"/>
%s</svg>
`, width, height, width, height, chart.Fonts, html.EscapeString(title), width-1, height-1, body)
	return err
}

// head draws title, subtitle, legend and directions, and returns where the rows begin.
func (f Forest) head(out *strings.Builder) int {
	y := 14
	for _, line := range wrap(f.Title, 19) {
		y += 22
		text(out, forestMargin, y-4, "#111", `font-size="18" font-weight="600"`, line)
	}
	for _, line := range wrap(f.Subtitle, 14) {
		y += 19
		text(out, forestMargin, y-2, "#555", "", line)
	}
	if len(f.Series) > 1 {
		y += 26
		x := float64(forestMargin + 6)
		for i, name := range f.Series {
			marker(out, i, x, float64(y-6), false)
			text(out, int(x)+12, y-1, "#222", "", name)
			x += 34 + glyph*float64(len([]rune(name)))
		}
	}
	y += 26
	f.directions(out, y-4)
	return y + 4
}

// directions says what either side of the line of no effect means.
func (f Forest) directions(out *strings.Builder, y int) {
	if f.Below != "" {
		text(out, forestMargin, y, "#1a5c3a", `font-weight="600"`, "← "+f.Below)
	}
	if f.Above != "" {
		text(out, forestRight, y, "#1a5c3a", `text-anchor="end" font-weight="600"`, f.Above+" →")
	}
}

// group draws a group with its upper edge at y and returns its lower edge.
func (f Forest) group(out *strings.Builder, g Group, y int, place func(float64) float64) int {
	name, light, _ := strings.Cut(g.Name, " — ")
	fmt.Fprintf(out, `<rect x="1" y="%d" width="%d" height="22" fill="#f1f3f5"/>`+"\n", y, forestWidth-2)
	fmt.Fprintf(out, `<text x="%d" y="%d"><tspan font-weight="600">%s</tspan> <tspan fill="#555">%s</tspan></text>`+"\n",
		forestMargin, y+16, html.EscapeString(name), html.EscapeString(light))
	y += headHeight
	for _, row := range g.Rows {
		lines := row.lines()
		text(out, forestMargin, y+len(lines)*lineHeight/2+5, "#222", "", row.Name)
		for _, line := range lines {
			middle := float64(y) + lineHeight/2.0
			var sum float64
			weight := 600
			for _, e := range line {
				e.draw(out, middle, place)
				sum += e.Estimate
				if e.Open {
					weight = 400
				}
			}
			if f.Numbers != "" {
				fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end" font-weight="%d">%s</text>`+"\n",
					forestRight, middle+5, weight, signed(sum/float64(len(line)), f.Digits, true))
			}
			y += lineHeight
		}
		y += 3
	}
	return y + gap
}

// lines are the effects of each line of the row.
func (r Row) lines() (lines [][]Effect) {
	if len(r.Effects) > 0 && !slices.ContainsFunc(r.Effects, Effect.bounded) {
		return [][]Effect{r.Effects}
	}
	for _, e := range r.Effects {
		lines = append(lines, []Effect{e})
	}
	return lines
}

// draw draws interval and marker at the height y.
func (e Effect) draw(out *strings.Builder, y float64, place func(float64) float64) {
	colour := chart.CSS(chart.Ink(e.Series))
	switch {
	case e.Summary:
		low, high := place(e.Estimate)-6, place(e.Estimate)+6
		if e.bounded() {
			low, high = place(e.Low), place(e.High)
		}
		fmt.Fprintf(out, `<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fZ" fill="#222"/>`+"\n",
			low, y, place(e.Estimate), y-6, high, y, place(e.Estimate), y+6)
		return
	case e.bounded():
		fmt.Fprintf(out, `<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="2.2" stroke-linecap="round"/>`+"\n", place(e.Low), y, place(e.High), colour)
	}
	marker(out, e.Series, place(e.Estimate), y, e.Open)
}

// marker draws the mark of a series: a disc, a square, a triangle, a disc again.
func marker(out *strings.Builder, series int, x, y float64, open bool) {
	colour := chart.CSS(chart.Ink(series))
	fill := string(colour)
	if open {
		fill = "#fff"
	}
	shape := fmt.Sprintf(`circle cx="%.1f" cy="%.1f" r="4.6"`, x, y)
	switch series % 3 {
	case 1:
		shape = fmt.Sprintf(`rect x="%.1f" y="%.1f" width="8" height="8"`, x-4, y-4)
	case 2:
		shape = fmt.Sprintf(`path d="M%.1f %.1fl5.2 9.2h-10.4z"`, x, y-5.4)
	}
	fmt.Fprintf(out, `<%s fill="%s" stroke="%s" stroke-width="1.6"/>`+"\n", shape, fill, colour)
}

// span is the axis: all effects, their intervals and 0, with some air.
func (f Forest) span() chart.Interval {
	l := chart.Line{X: []float64{0}}
	for _, g := range f.Groups {
		for _, r := range g.Rows {
			for _, e := range r.Effects {
				l.X = append(l.X, e.Estimate, e.Low, e.High)
			}
		}
	}
	s := chart.Span([]chart.Line{l}, func(l chart.Line) []float64 { return l.X })
	air := 0.04 * (s.High - s.Low)
	return chart.Interval{Low: s.Low - air, High: s.High + air}
}

// text writes a line of text.
func text(out *strings.Builder, x, y int, fill, attributes, content string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" fill="%s"%s>%s</text>`+"\n", x, y, fill, attributes, html.EscapeString(content))
}

// wrap breaks a text between words into lines that fit the width at the font size.
func wrap(s string, size float64) (lines []string) {
	limit := int((forestWidth - 2*forestMargin) / (size * 0.55))
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		if last < 0 || len([]rune(lines[last]))+1+len([]rune(word)) > limit {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return lines
}

// signed writes a number with its sign, a true minus; with as many digits as it needs where digits
// is negative. What is rounded to 0 has no sign.
func signed(v float64, digits int, plus bool) string {
	s := chart.Number(math.Abs(v))
	if digits >= 0 {
		s = fmt.Sprintf("%.*f", digits, math.Abs(v))
	}
	switch {
	case strings.Trim(s, "0.") == "":
		return s
	case v < 0:
		return "−" + s
	case plus:
		return "+" + s
	}
	return s
}
