package compare

import (
	"fmt"
	"html/template"
	"image/color"
	"math"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/internal/study/chart"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// passesPlot shows soft Dice over the passes. If no method has more than one, the methods stand
// side by side.
func (c *classComparison) passesPlot() template.HTML {
	most := 0
	for _, m := range c.Methods {
		most = max(most, len(m.Passes))
	}
	p := graphs.New("pass", "soft Dice ×100")
	for i, m := range c.Methods {
		s := graphs.Series{Index: m.index}
		for pass, all := range m.Passes {
			shift := (float64(i) - float64(len(c.Methods)-1)/2) * .05
			if most == 1 {
				shift = float64(i)
			}
			s.X, s.Values = append(s.X, float64(pass)+shift), append(s.Values, &all[score.Figures[score.SoftDice].Key].Interval)
		}
		p.Add(s)
	}
	p.X.Tick.Marker = plot.ConstantTicks(statistics.Tabulate(most, func(i int) plot.Tick { return plot.Tick{Value: float64(i), Label: fmt.Sprintf("Rec%d", i)} }))
	p.X.Min, p.X.Max = p.X.Min-.3, p.X.Max+.3
	if most == 1 {
		p.X.Label.Text, p.X.Tick.Marker = "methods, one pass each", plot.ConstantTicks{}
	}
	graphs.Air(p)
	return graphs.Inline(p, c.Class+": soft Dice over passes")
}

// reliabilityPlot shows mean votes over probabilities in the band.
func (c *classComparison) reliabilityPlot() template.HTML {
	lines := make([]chart.Line, c.Methods[len(c.Methods)-1].index+1)
	for _, m := range c.Methods {
		lines[m.index].Dots = true
		for _, b := range m.Reliability {
			lines[m.index].X, lines[m.index].Y = append(lines[m.index].X, b.Probability), append(lines[m.index].Y, b.Vote)
		}
	}
	p := graphs.Lines("probability of the map", "share of votes", lines)
	p.Add(diagonal{})
	p.Y.Min, p.Y.Max = 0, 1
	return graphs.Inline(p, c.Class+": reliability diagram")
}

// diagonal is where probabilities are right.
type diagonal struct{}

func (diagonal) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: color.RGBA{96, 104, 112, 255}, Width: .8, Dashes: []vg.Length{3, 3}}, x(0), y(0), x(1), y(1))
}

// ratersPlot shows the Dice with each rater's marks: of the rater's head, or of the mask for
// methods without heads.
func (c *classComparison) ratersPlot(raters []string) template.HTML {
	p := graphs.New("", "Dice ×100")
	const group = .8 // of the place of a rater
	for i, m := range c.Methods {
		s := graphs.Series{Index: m.index, Bar: group / float64(len(c.Methods))}
		for at, rater := range raters {
			for _, d := range m.Raters {
				if d.Rater != rater {
					continue
				}
				v := d.Head
				if v == nil {
					v = d.Mask
				}
				s.X = append(s.X, float64(at)+(float64(i)+.5)*s.Bar-group/2)
				s.Values, s.Faint = append(s.Values, &v.Interval), append(s.Faint, d.Head == nil)
			}
		}
		p.Add(s)
	}
	var ticks plot.ConstantTicks
	longest := 0
	for i, rater := range raters {
		name := []rune(rater)
		if len(name) > 16 {
			name = append(name[:15], '…')
		}
		longest, ticks = max(longest, len(name)), append(ticks, plot.Tick{Value: float64(i), Label: string(name)})
	}
	p.X.Tick.Marker = ticks
	if label := &p.X.Tick.Label; len(raters)*longest > 44 { // letters beside each other: the names stand upright
		label.Rotation, label.XAlign, label.YAlign = math.Pi/2, draw.XRight, draw.YCenter
		label.Font.Size = min(label.Font.Size, vg.Length(300/len(raters)))
	}
	p.Y.Min, p.Y.Max = max(0, math.Floor(p.Y.Min/5)*5-5), min(100, p.Y.Max+1)
	return graphs.Inline(p, c.Class+": Dice with each rater")
}

// riskPlot shows the mean soft Dice of the images of which each method is most certain.
func (r *Comparison) riskPlot() template.HTML {
	lines := make([]chart.Line, len(r.groups()))
	for _, one := range r.Risk {
		for _, p := range one.Curve {
			lines[one.index].X, lines[one.index].Y = append(lines[one.index].X, p.Share), append(lines[one.index].Y, 100*p.Dice)
		}
	}
	return graphs.Inline(graphs.Lines("share of images kept, the most certain first", "mean soft Dice ×100", lines), "risk–coverage curve")
}
