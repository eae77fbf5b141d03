package compare

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Measures of the plots, in units that the page scales to its width.
const (
	plotWide = 360
	plotTall = 250
	plotText = 12
	dotSize  = 2.6
)

// methodInks are the methods' colours: those of Okabe and Ito (2008) but yellow. Most eyes can tell
// them apart. Methods beyond the last have the colours again, dashed.
var methodInks = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255}, {230, 159, 0, 255}, {68, 68, 68, 255},
}

var (
	axisInk = color.RGBA{96, 104, 112, 255}
	gridInk = color.RGBA{228, 231, 234, 255}
)

func ink(method int) color.RGBA { return methodInks[method%len(methodInks)] }

// cssInk is a method's colour in CSS.
func cssInk(method int) template.CSS { return picture.CSS(ink(method)) }

func lineStyle(method int) draw.LineStyle {
	s := draw.LineStyle{Color: ink(method), Width: 1.6}
	if method >= len(methodInks) {
		s.Dashes = []vg.Length{4, 3}
	}
	return s
}

// newPlot is an empty plot in the page's style.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for axis, name := range map[*plot.Axis]string{&p.X: x, &p.Y: y} {
		axis.Label.Text, axis.Label.Padding, axis.Padding = name, 4, 4
		axis.LineStyle.Color, axis.Tick.LineStyle.Color, axis.Tick.Length = gridInk, gridInk, 0
		axis.Tick.Marker = plot.TickerFunc(labelled)
		for _, style := range []*draw.TextStyle{&axis.Label.TextStyle, &axis.Tick.Label} {
			style.Font, style.Color = font.Font{Typeface: "Liberation", Variant: "Sans", Size: plotText}, axisInk
		}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridInk, nil
	p.Add(grid)
	return p
}

// labelled are three to nine round numbers of the range, each with its label.
func labelled(low, high float64) (ticks []plot.Tick) {
	step := math.Pow10(int(math.Floor(math.Log10((high - low) / 4))))
	for _, factor := range []float64{2, 2.5, 2} { // to 2, 5 and 10 times the power of ten
		if (high-low)/step > 8 {
			step *= factor
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for v := math.Ceil(low/step-1e-9) * step; v <= high+1e-9*step; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v+0, 'f', digits, 64)}) // no −0
	}
	return ticks
}

// svgHead is what the page does without: the page's style has the size and the font.
var svgHead = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)

// drawn is the plot as SVG within HTML. The label says what it shows to those who cannot see it.
func drawn(p *plot.Plot, label string) template.HTML {
	canvas := vgsvg.New(plotWide, plotTall)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	_, _ = canvas.WriteTo(&b) // a buffer takes everything
	head := fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 -4 %d %d">`, template.HTMLEscapeString(label), plotWide+8, plotTall+8)
	text := svgHead.ReplaceAllString(b.String(), head)
	return template.HTML(strings.ReplaceAll(text, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", ""))
}

// series are values with intervals at places along x: a line with dots, or bars.
type series struct {
	method int
	x      []float64
	values []*metric.Interval // times 100 on the plot; nil is left out
	bar    float64            // width along x; 0 for a line
	faint  []bool             // pale bars: masks in place of heads
}

// Plot draws the series.
func (s series) Plot(c draw.Canvas, p *plot.Plot) {
	placeX, placeY := p.Transforms(&c)
	place := func(x, y float64) vg.Point { return vg.Point{X: placeX(x), Y: placeY(y)} }
	var line []vg.Point
	for i, v := range s.values {
		if v == nil {
			continue
		}
		x, y := s.x[i], 100*v.Mean
		if s.bar > 0 {
			s.drawBar(c, place, i, y, p.Y.Min)
		}
		if v.Low != nil {
			whisker := draw.LineStyle{Color: ink(s.method), Width: 1.2}
			if s.bar > 0 {
				whisker.Color = color.RGBA{40, 44, 48, 255}
			}
			c.StrokeLine2(whisker, placeX(x), placeY(max(p.Y.Min, 100**v.Low)), placeX(x), placeY(100**v.High))
		}
		line = append(line, place(x, y))
	}
	if s.bar > 0 {
		return
	}
	c.StrokeLines(lineStyle(s.method), line)
	for _, at := range line {
		c.DrawGlyph(draw.GlyphStyle{Color: ink(s.method), Radius: dotSize, Shape: draw.CircleGlyph{}}, at)
	}
}

// drawBar draws bar i. The bar of a mask that stands for a missing head is pale.
func (s series) drawBar(c draw.Canvas, place func(x, y float64) vg.Point, i int, top, bottom float64) {
	left, right := s.x[i]-s.bar/2, s.x[i]+s.bar/2
	corners := []vg.Point{place(left, bottom), place(left, top), place(right, top), place(right, bottom)}
	fill := ink(s.method)
	if s.faint[i] {
		fill = color.RGBA{fill.R/3 + 170, fill.G/3 + 170, fill.B/3 + 170, 255}
	}
	c.FillPolygon(fill, corners)
	c.StrokeLines(draw.LineStyle{Color: ink(s.method), Width: .6}, append(corners, corners[0]))
}

// DataRange is the extent of the values and their intervals.
func (s series) DataRange() (left, right, low, high float64) {
	left, right, low, high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for i, v := range s.values {
		if v == nil {
			continue
		}
		left, right = min(left, s.x[i]-s.bar/2), max(right, s.x[i]+s.bar/2)
		low, high = min(low, 100*v.Mean), max(high, 100*v.Mean)
		if v.Low != nil {
			low, high = min(low, 100**v.Low), max(high, 100**v.High)
		}
	}
	return left, right, low, high
}

// passesPlot shows soft Dice over the passes. If no method has more than one, the methods stand
// side by side.
func (c *classComparison) passesPlot() template.HTML {
	most := 0
	for _, m := range c.Methods {
		most = max(most, len(m.Passes))
	}
	p := newPlot("pass", "soft Dice ×100")
	for i, m := range c.Methods {
		s := series{method: m.index}
		for pass, all := range m.Passes {
			shift := (float64(i) - float64(len(c.Methods)-1)/2) * .05
			if most == 1 {
				shift = float64(i)
			}
			s.x, s.values = append(s.x, float64(pass)+shift), append(s.values, all[score.AllFigures[score.SoftDice].Key].Interval)
		}
		p.Add(s)
	}
	p.X.Tick.Marker = plot.ConstantTicks(statistics.Tabulate(most, func(i int) plot.Tick { return plot.Tick{Value: float64(i), Label: fmt.Sprintf("Rec%d", i)} }))
	p.X.Min, p.X.Max = p.X.Min-.3, p.X.Max+.3
	if most == 1 {
		p.X.Label.Text, p.X.Tick.Marker = "methods, one pass each", plot.ConstantTicks{}
	}
	air(p)
	return drawn(p, c.Class+": soft Dice over passes")
}

// air leaves room above and below what a plot shows.
func air(p *plot.Plot) {
	room := max(.08*(p.Y.Max-p.Y.Min), .5)
	p.Y.Min, p.Y.Max = p.Y.Min-room, p.Y.Max+room
}

// reliabilityPlot shows mean votes over probabilities inside the union.
func (c *classComparison) reliabilityPlot() template.HTML {
	p := newPlot("probability of the map", "share of votes")
	p.Add(diagonal{})
	for _, m := range c.Methods {
		var points plotter.XYs
		for _, b := range m.Reliability {
			points = append(points, plotter.XY{X: b.Probability, Y: b.Vote})
		}
		if line, dots, err := plotter.NewLinePoints(points); err == nil { // it refuses no points at all
			line.LineStyle = lineStyle(m.index)
			dots.GlyphStyle = draw.GlyphStyle{Color: ink(m.index), Radius: dotSize, Shape: draw.CircleGlyph{}}
			p.Add(line, dots)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	return drawn(p, c.Class+": reliability diagram")
}

// diagonal is where probabilities are right.
type diagonal struct{}

func (diagonal) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: axisInk, Width: .8, Dashes: []vg.Length{3, 3}}, x(0), y(0), x(1), y(1))
}

// ratersPlot shows the Dice with each rater's marks: of the rater's head, or of the mask for
// methods without heads.
func (c *classComparison) ratersPlot(raters []string) template.HTML {
	p := newPlot("", "Dice ×100")
	const group = .8 // of the place of a rater
	for i, m := range c.Methods {
		s := series{method: m.index, bar: group / float64(len(c.Methods))}
		for at, rater := range raters {
			for _, d := range m.Raters {
				if d.Rater != rater {
					continue
				}
				v := d.Head
				if v == nil {
					v = d.Mask
				}
				s.x = append(s.x, float64(at)+(float64(i)+.5)*s.bar-group/2)
				s.values, s.faint = append(s.values, v), append(s.faint, d.Head == nil)
			}
		}
		p.Add(s)
	}
	p.X.Tick.Marker = plot.ConstantTicks(statistics.Tabulate(len(raters), func(i int) plot.Tick {
		return plot.Tick{Value: float64(i), Label: short(raters[i], len(raters))}
	}))
	p.Y.Min, p.Y.Max = max(0, math.Floor(p.Y.Min/5)*5-5), min(100, p.Y.Max+1)
	return drawn(p, c.Class+": Dice with each rater")
}

// short cuts a rater's name to the room below its bars.
func short(name string, raters int) string {
	letters := []rune(name)
	if most := max(3, 56/raters); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}

// riskPlot shows the mean soft Dice of the images of which each method is most certain.
func (r *Comparison) riskPlot() template.HTML {
	p := newPlot("share of images kept, the most certain first", "mean soft Dice ×100")
	for i, m := range r.Methods {
		for _, one := range r.Risk {
			if one.Method != m.Name {
				continue
			}
			points := plotter.XYs(statistics.Tabulate(len(one.Curve), func(j int) plotter.XY { return plotter.XY{X: one.Curve[j].Share, Y: 100 * one.Curve[j].Dice} }))
			if line, err := plotter.NewLine(points); err == nil {
				line.LineStyle = lineStyle(i)
				p.Add(line)
			}
		}
	}
	p.X.Min, p.X.Max = 0, 1
	air(p)
	return drawn(p, "risk–coverage curve")
}
