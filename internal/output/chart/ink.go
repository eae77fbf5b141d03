package chart

import (
	"fmt"
	"html/template"
	"image/color"
)

// inks are the colours of series: those of Okabe and Ito (2008) but yellow. Most eyes can tell them
// apart, on paper too. Series beyond the last have the colours again, dashed.
var inks = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255}, {230, 159, 0, 255}, {68, 68, 68, 255},
}

// Fonts are tried in this order.
const Fonts = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

// Ink is the colour of a series.
func Ink(i int) color.RGBA { return inks[i%len(inks)] }

// CSS is a colour as style sheets and SVG write it.
func CSS(c color.RGBA) template.CSS {
	return template.CSS(fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B))
}

// Dashed reports whether the lines of a series are dashed, since another one has its colour.
func Dashed(i int) bool { return i >= len(inks) }
