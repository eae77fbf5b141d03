package graphs

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/output/chart"
)

// Plot is curves or bars in a frame.
type Plot struct {
	X, Y       string         // what the axes are
	Names      []string       // of 0, 1, … along x; nil: numbers stand there
	Across, Up chart.Interval // the ranges of x and y
	Diagonal   bool           // a dashed line where y is x
	level      *float64       // a dashed line across
	series     []Series
}

// Series are values with intervals at places along x: a line, or bars.
type Series struct {
	Index  int // of the ink
	X      []float64
	Values []*metric.Interval // nil is left out
	Dots   bool               // of a line
	Bar    float64            // width along x; 0 for a line
	Faint  []bool             // pale bars
}

// Curve is a line of values without intervals.
func Curve(index int, x, y []float64, dots bool) Series {
	s := Series{Index: index, X: x, Dots: dots}
	for _, v := range y {
		s.Values = append(s.Values, &metric.Interval{Mean: v})
	}
	return s
}

// Risk is the curve of mean soft Dice ×100 over the share of images that are kept.
func Risk(index int, points []metrics.RiskPoint) Series {
	var x, y []float64
	for _, p := range points {
		x, y = append(x, p.Share), append(y, 100*p.Dice)
	}
	return Curve(index, x, y, false)
}

// Percent is an interval of shares in percent; nil for nil.
func Percent(v *metric.Interval) *metric.Interval {
	if v == nil {
		return nil
	}
	out := &metric.Interval{Mean: 100 * v.Mean}
	if v.Low != nil {
		out.Low, out.High = new(100**v.Low), new(100**v.High)
	}
	return out
}

// New is a plot of series whose ranges are theirs.
func New(x, y string, series ...Series) *Plot {
	var across, up chart.Line
	for _, s := range series {
		for i, v := range s.Values {
			if v == nil {
				continue
			}
			across.X, up.X = append(across.X, s.X[i]-s.Bar/2, s.X[i]+s.Bar/2), append(up.X, v.Mean)
			if v.Low != nil {
				up.X = append(up.X, *v.Low, *v.High)
			}
		}
	}
	span := func(l chart.Line) chart.Interval {
		return chart.Span([]chart.Line{l}, func(l chart.Line) []float64 { return l.X })
	}
	return &Plot{X: x, Y: y, Across: span(across), Up: span(up), series: series}
}

// Shares is a plot over shares, 0 to 1, with air above and below.
func Shares(x, y string, series ...Series) *Plot {
	p := New(x, y, series...)
	p.Across = chart.Interval{Low: 0, High: 1}
	return p.Air()
}

// Level draws a dashed line at a mean, if there is one.
func (p *Plot) Level(at *metric.Interval) *Plot {
	if at != nil {
		p.level, p.Up = &at.Mean, chart.Interval{Low: min(p.Up.Low, at.Mean), High: max(p.Up.High, at.Mean)}
	}
	return p
}

// Air leaves room above and below what the plot shows.
func (p *Plot) Air() *Plot {
	room := max(.08*(p.Up.High-p.Up.Low), .5)
	p.Up = chart.Interval{Low: p.Up.Low - room, High: p.Up.High + room}
	return p
}

// Measures of a plot, in units that a page scales to its width.
const (
	plotWide            = 368
	plotLeft, plotRight = 48, 362
	plotTop, plotLow    = 8, 212
	letter              = 6.4 // the width of one
)

// frame places values in the picture.
type frame struct{ across, up chart.Interval }

func (f frame) x(v float64) float64 { return plotLeft + f.across.Share(v)*(plotRight-plotLeft) }
func (f frame) y(v float64) float64 { return plotLow - f.up.Share(v)*(plotLow-plotTop) }

// Inline is the plot as SVG within HTML. The label says what it shows to those who cannot see it.
func (p *Plot) Inline(label string) template.HTML {
	var out strings.Builder
	f := frame{p.Across, p.Up}
	for _, v := range chart.Ticks(p.Up, 5) {
		fmt.Fprintf(&out, `<path d="M%d %.1fH%d" stroke="#e4e7ea"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft, f.y(v), plotRight, plotLeft-6, f.y(v)+4, chart.Number(v))
	}
	y := p.names(&out, f) + 18
	middle := (plotLeft + plotRight) / 2
	fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="middle">%s</text>`, middle, y, template.HTMLEscapeString(p.X))
	middle = (plotTop + plotLow) / 2
	fmt.Fprintf(&out, `<text x="12" y="%d" text-anchor="middle" transform="rotate(-90 12 %[1]d)">%s</text>`, middle, template.HTMLEscapeString(p.Y))
	dashed := func(x, y, right, top float64) {
		fmt.Fprintf(&out, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#606870" stroke-width=".8" stroke-dasharray="3 3"/>`, x, y, right, top)
	}
	if p.Diagonal {
		dashed(f.x(0), f.y(0), f.x(1), f.y(1))
	}
	if p.level != nil {
		dashed(plotLeft, f.y(*p.level), plotRight, f.y(*p.level))
	}
	for _, s := range p.series {
		s.draw(&out, f)
	}
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 0 %d %d" font-size="12" fill="#606870">%s</svg>`,
		template.HTMLEscapeString(label), plotWide, y+8, out.String()))
}

// names writes names or numbers below the frame, and returns where they end. Names that would be
// letters beside each other stand upright.
func (p *Plot) names(out *strings.Builder, f frame) int {
	if p.Names == nil {
		for _, v := range chart.Ticks(p.Across, 5) {
			fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, f.x(v), plotLow+16, chart.Number(v))
		}
		return plotLow + 16
	}
	longest := 0
	for _, name := range p.Names {
		longest = max(longest, len([]rune(name)))
	}
	low, turned := plotLow+16, ""
	upright := float64(len(p.Names)*longest)*letter > plotRight-plotLeft
	for i, name := range p.Names {
		anchor := "middle"
		if upright {
			anchor, turned = "start", fmt.Sprintf(` transform="rotate(90 %.1f %d)"`, f.x(float64(i)), low-10)
		}
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="%s"%s>%s</text>`, f.x(float64(i)), low, anchor, turned, template.HTMLEscapeString(name))
	}
	if upright {
		low += int(letter * float64(longest))
	}
	return low
}

// draw draws the line or the bars, and the intervals.
func (s Series) draw(out *strings.Builder, f frame) {
	ink := chart.CSS(chart.Ink(s.Index))
	var line []string
	var marks strings.Builder
	for i, v := range s.Values {
		if v == nil {
			continue
		}
		x, y, whisker := f.x(s.X[i]), f.y(v.Mean), string(ink)
		if s.Bar > 0 {
			opacity := 1.
			if whisker = "#282c30"; s.Faint[i] {
				opacity = .33
			}
			left, right := f.x(s.X[i]-s.Bar/2), f.x(s.X[i]+s.Bar/2)
			fmt.Fprintf(&marks, `<path d="M%.1f %dV%.1fH%.1fV%[2]dZ" fill="%[5]s" fill-opacity="%.2f" stroke="%[5]s" stroke-width=".6"/>`, left, plotLow, y, right, ink, opacity)
		}
		if v.Low != nil {
			fmt.Fprintf(&marks, `<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-width="1.2"/>`, x, f.y(max(f.up.Low, *v.Low)), f.y(*v.High), whisker)
		}
		if s.Dots {
			fmt.Fprintf(&marks, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="%s"/>`, x, y, ink)
		}
		if !math.IsNaN(y) {
			line = append(line, fmt.Sprintf("%.1f %.1f", x, y))
		}
	}
	if s.Bar == 0 && len(line) > 0 {
		dashes := map[bool]string{true: ` stroke-dasharray="4 3"`}[chart.Dashed(s.Index)]
		fmt.Fprintf(out, `<path d="M%s" fill="none" stroke="%s" stroke-width="1.6"%s/>`, strings.Join(line, "L"), ink, dashes)
	}
	out.WriteString(marks.String())
}
