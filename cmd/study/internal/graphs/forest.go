// Package graphs draws forest plots, grids of differences and plots with intervals, as SVG.
package graphs

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"mrprism/internal/output/chart"
)

// Forest is a forest plot: measured effects with their intervals beside the line of no effect, 0.
// The better effects are on a shaded ground. It is narrow: a telephone shows its text large enough.
type Forest struct {
	Title        string
	Axis         string // what an effect is, with its unit
	Below, Above string // what an effect below and above 0 means
	Numbers      string // over the column of estimates
	Groups       []Group
	Lower        bool // effects below 0 are the better ones, not those above
}

// Group is rows under one heading. The part of Name after " — " is drawn lighter.
type Group struct {
	Name string
	Rows []Row
}

// Row is one measured difference under a label.
type Row struct {
	Name                string
	Estimate, Low, High float64 // Low and High are NaN where no interval is known
	Open                bool    // the interval covers 0: a hollow marker, a thin number
}

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
)

// Write writes the picture.
func (f Forest) Write(w io.Writer) error {
	var body strings.Builder
	y := f.head(&body)
	right := float64(forestRight - forestColumn)
	xs := f.span()
	place := func(v float64) float64 { return forestLeft + xs.Share(v)*(right-forestLeft) }
	top := y + 2 // under the edge of the first heading
	var rows strings.Builder
	for _, g := range f.Groups {
		y = g.draw(&rows, y, place)
	}
	zero := place(0)
	from, to := zero, right
	if f.Lower {
		from, to = forestLeft, zero
	}
	fmt.Fprintf(&body, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#eaf5ef"/>`+"\n", from, top, to-from, y-top)
	for _, v := range chart.Ticks(xs, 6) {
		fmt.Fprintf(&body, `<path d="M%.1f %dV%d" stroke="#e3e6e9"/>`, place(v), top, y)
		fmt.Fprintf(&body, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%s</text>`+"\n", place(v), y+18, signed(v, chart.Number(math.Abs(v))))
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

// head draws title and directions, and returns where the rows begin.
func (f Forest) head(out *strings.Builder) int {
	y := 14
	for _, line := range wrap(f.Title, 19) {
		y += 22
		text(out, forestMargin, y-4, "#111", `font-size="18" font-weight="600"`, line)
	}
	y += 26
	f.directions(out, y-4)
	return y + 4
}

// directions says what either side of the line of no effect means.
func (f Forest) directions(out *strings.Builder, y int) {
	text(out, forestMargin, y, "#1a5c3a", `font-weight="600"`, "← "+f.Below)
	text(out, forestRight, y, "#1a5c3a", `text-anchor="end" font-weight="600"`, f.Above+" →")
}

// draw draws a group with its upper edge at y and returns its lower edge.
func (g Group) draw(out *strings.Builder, y int, place func(float64) float64) int {
	name, light, _ := strings.Cut(g.Name, " — ")
	fmt.Fprintf(out, `<rect x="1" y="%d" width="%d" height="22" fill="#f1f3f5"/>`+"\n", y, forestWidth-2)
	fmt.Fprintf(out, `<text x="%d" y="%d"><tspan font-weight="600">%s</tspan> <tspan fill="#555">%s</tspan></text>`+"\n",
		forestMargin, y+16, html.EscapeString(name), html.EscapeString(light))
	y += headHeight
	for _, row := range g.Rows {
		text(out, forestMargin, y+lineHeight/2+5, "#222", "", row.Name)
		row.draw(out, float64(y)+lineHeight/2.0, place)
		y += lineHeight + 3
	}
	return y + gap
}

// draw draws interval, marker and number at the height y.
func (r Row) draw(out *strings.Builder, y float64, place func(float64) float64) {
	colour := chart.CSS(chart.Ink(0))
	if !math.IsNaN(r.Low) {
		fmt.Fprintf(out, `<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="2.2" stroke-linecap="round"/>`+"\n", place(r.Low), y, place(r.High), colour)
	}
	fill, weight := string(colour), 600
	if r.Open {
		fill, weight = "#fff", 400
	}
	fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="4.6" fill="%s" stroke="%s" stroke-width="1.6"/>`+"\n", place(r.Estimate), y, fill, colour)
	fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end" font-weight="%d">%s</text>`+"\n", forestRight, y+5, weight, difference(r.Estimate))
}

// span is the axis: all effects, their intervals and 0, with some air.
func (f Forest) span() chart.Interval {
	l := chart.Line{X: []float64{0}}
	for _, g := range f.Groups {
		for _, r := range g.Rows {
			l.X = append(l.X, r.Estimate, r.Low, r.High)
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

// difference writes a difference with a digit after the point and its sign.
func difference(v float64) string { return signed(v, fmt.Sprintf("%.1f", math.Abs(v))) }

// signed puts the sign of v, a true minus, before its digits. What is rounded to 0 has no sign.
func signed(v float64, digits string) string {
	switch {
	case strings.Trim(digits, "0.") == "":
		return digits
	case v < 0:
		return "−" + digits
	}
	return "+" + digits
}
