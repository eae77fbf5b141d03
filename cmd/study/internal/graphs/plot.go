package graphs

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strings"

	"mrprism/internal/data/metric"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"mrprism/internal/study/chart"
)

// Measures of the plots, in units that a page scales to its width.
const (
	plotWide = 360
	plotTall = 250
	plotText = 12
	dotSize  = 2.6
)

var (
	axisInk = color.RGBA{96, 104, 112, 255}
	gridInk = color.RGBA{228, 231, 234, 255}
)

// lineStyle is that of a series.
func lineStyle(i int) draw.LineStyle {
	s := draw.LineStyle{Color: chart.Ink(i), Width: 1.6}
	if chart.Dashed(i) {
		s.Dashes = []vg.Length{4, 3}
	}
	return s
}

// dot marks a point of a series.
func dot(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: chart.Ink(i), Radius: dotSize, Shape: draw.CircleGlyph{}}
}

func textStyle(size float64, ink color.Color) draw.TextStyle {
	s := plot.New().X.Tick.Label
	s.XAlign, s.YAlign = draw.XLeft, draw.YBottom
	s.Font, s.Color = font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Length(size)}, ink
	return s
}

// New is an empty plot.
func New(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for axis, name := range map[*plot.Axis]string{&p.X: x, &p.Y: y} {
		axis.Label.Text, axis.Label.Padding, axis.Padding = name, 4, 4
		axis.LineStyle.Color, axis.Tick.LineStyle.Color, axis.Tick.Length = gridInk, gridInk, 0
		axis.Tick.Marker = plot.TickerFunc(func(low, high float64) (all []plot.Tick) {
			for _, v := range chart.Ticks(chart.Interval{Low: low, High: high}, 5) {
				all = append(all, plot.Tick{Value: v, Label: chart.Number(v)})
			}
			return all
		})
		for _, style := range []*draw.TextStyle{&axis.Label.TextStyle, &axis.Tick.Label} {
			style.Font, style.Color = font.Font{Typeface: "Liberation", Variant: "Sans", Size: plotText}, axisInk
		}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridInk, nil
	p.Add(grid)
	return p
}

// Air leaves room above and below what a plot shows.
func Air(p *plot.Plot) {
	room := max(.08*(p.Y.Max-p.Y.Min), .5)
	p.Y.Min, p.Y.Max = p.Y.Min-room, p.Y.Max+room
}

// family is the font that gonum names, which only some machines have.
const family = "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;"

// svgHead is what a page does without: its style has the size and the font.
var svgHead = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)

// Inline is the plot as SVG within HTML. The label says what it shows to those who cannot see it.
func Inline(p *plot.Plot, label string) template.HTML {
	canvas := vgsvg.New(plotWide, plotTall)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	_, _ = canvas.WriteTo(&b) // a buffer takes everything
	head := fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 -4 %d %d">`, template.HTMLEscapeString(label), plotWide+8, plotTall+8)
	return template.HTML(strings.ReplaceAll(svgHead.ReplaceAllString(b.String(), head), family, ""))
}

// Lines are curves over shares.
func Lines(x, y string, lines []chart.Line) *plot.Plot {
	p := New(x, y)
	for i, l := range lines {
		points := plotter.XYs(make([]plotter.XY, len(l.X)))
		for j := range points {
			points[j] = plotter.XY{X: l.X[j], Y: l.Y[j]}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			continue // it refuses no points at all
		}
		line.LineStyle, dots.GlyphStyle = lineStyle(i), dot(i)
		p.Add(line)
		if l.Dots {
			p.Add(dots)
		}
	}
	p.X.Min, p.X.Max = 0, 1
	Air(p)
	return p
}

// Series are values with intervals at places along x: a line with dots, or bars.
type Series struct {
	Index  int // of the ink
	X      []float64
	Values []*metric.Interval // times 100 on the plot; nil is left out
	Bar    float64            // width along x; 0 for a line
	Faint  []bool             // pale bars
}

// Plot draws the series.
func (s Series) Plot(c draw.Canvas, p *plot.Plot) {
	placeX, placeY := p.Transforms(&c)
	place := func(x, y float64) vg.Point { return vg.Point{X: placeX(x), Y: placeY(y)} }
	var line []vg.Point
	for i, v := range s.Values {
		if v == nil {
			continue
		}
		x, y := s.X[i], 100*v.Mean
		if s.Bar > 0 {
			s.drawBar(c, place, i, y, p.Y.Min)
		}
		if v.Low != nil {
			whisker := draw.LineStyle{Color: chart.Ink(s.Index), Width: 1.2}
			if s.Bar > 0 {
				whisker.Color = color.RGBA{40, 44, 48, 255}
			}
			c.StrokeLine2(whisker, placeX(x), placeY(max(p.Y.Min, 100**v.Low)), placeX(x), placeY(100**v.High))
		}
		line = append(line, place(x, y))
	}
	if s.Bar > 0 {
		return
	}
	c.StrokeLines(lineStyle(s.Index), line)
	for _, at := range line {
		c.DrawGlyph(dot(s.Index), at)
	}
}

// drawBar draws bar i. Faint ones are pale.
func (s Series) drawBar(c draw.Canvas, place func(x, y float64) vg.Point, i int, top, bottom float64) {
	left, right := s.X[i]-s.Bar/2, s.X[i]+s.Bar/2
	corners := []vg.Point{place(left, bottom), place(left, top), place(right, top), place(right, bottom)}
	fill := chart.Ink(s.Index)
	if s.Faint[i] {
		fill = color.RGBA{fill.R/3 + 170, fill.G/3 + 170, fill.B/3 + 170, 255}
	}
	c.FillPolygon(fill, corners)
	c.StrokeLines(draw.LineStyle{Color: chart.Ink(s.Index), Width: .6}, append(corners, corners[0]))
}

// DataRange is the extent of the values and their intervals.
func (s Series) DataRange() (left, right, low, high float64) {
	left, right, low, high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for i, v := range s.Values {
		if v == nil {
			continue
		}
		left, right = min(left, s.X[i]-s.Bar/2), max(right, s.X[i]+s.Bar/2)
		low, high = min(low, 100*v.Mean), max(high, 100*v.Mean)
		if v.Low != nil {
			low, high = min(low, 100**v.Low), max(high, 100**v.High)
		}
	}
	return left, right, low, high
}
