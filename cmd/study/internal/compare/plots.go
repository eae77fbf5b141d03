package compare

import (
	"fmt"
	"html/template"
	"math"

	"mrprism/cmd/study/internal/graphs"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/statistics"
	"mrprism/internal/output/chart"
)

// passesPlot shows soft Dice over the passes. If no method has more than one, the methods stand
// side by side.
func (c *classComparison) passesPlot() template.HTML {
	most := 0
	for _, m := range c.Methods {
		most = max(most, len(m.Passes))
	}
	var series []graphs.Series
	for i, m := range c.Methods {
		s := graphs.Series{Index: m.index, Dots: true}
		for pass, all := range m.Passes {
			shift := (float64(i) - float64(len(c.Methods)-1)/2) * .05
			if most == 1 {
				shift = float64(i)
			}
			s.X, s.Values = append(s.X, float64(pass)+shift), append(s.Values, graphs.Percent(&all[score.Figures[score.SoftDice].Key].Interval))
		}
		series = append(series, s)
	}
	p := graphs.New("pass", "soft Dice ×100", series...).Level(graphs.Percent(c.perfect(score.SoftDice))).Air()
	p.Names = statistics.Tabulate(most, func(i int) string { return fmt.Sprintf("Rec%d", i) })
	p.Across = chart.Interval{Low: p.Across.Low - .3, High: p.Across.High + .3}
	if most == 1 {
		p.X, p.Names = "methods, one pass each", []string{}
	}
	return p.Inline(c.Class + ": soft Dice over passes")
}

// reliabilityPlot shows mean votes over probabilities in the band. On the diagonal, probabilities
// are right.
func (c *classComparison) reliabilityPlot() template.HTML {
	p := graphs.Shares("probability of the map", "share of votes", statistics.Tabulate(len(c.Methods), func(i int) graphs.Series {
		var x, y []float64
		for _, b := range c.Methods[i].Reliability {
			x, y = append(x, b.Probability), append(y, b.Vote)
		}
		return graphs.Curve(c.Methods[i].index, x, y, true)
	})...)
	p.Diagonal, p.Up = true, chart.Interval{Low: 0, High: 1}
	return p.Inline(c.Class + ": reliability diagram")
}

// ratersPlot shows the Dice with each rater's marks: of the rater's head, or of the mask for
// methods without heads.
func (c *classComparison) ratersPlot(raters []string) template.HTML {
	const group = .8 // of the place of a rater
	var series []graphs.Series
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
				s.Values, s.Faint = append(s.Values, graphs.Percent(&v.Interval)), append(s.Faint, d.Head == nil)
			}
		}
		series = append(series, s)
	}
	p := graphs.New("", "Dice ×100", series...)
	for _, rater := range raters {
		name := []rune(rater)
		if len(name) > 16 {
			name = append(name[:15], '…')
		}
		p.Names = append(p.Names, string(name))
	}
	p.Up = chart.Interval{Low: max(0, math.Floor(p.Up.Low/5)*5-5), High: min(100, p.Up.High+1)}
	return p.Inline(c.Class + ": Dice with each rater")
}

// riskPlot shows the mean soft Dice of the images of which each method is most certain.
func (r *Comparison) riskPlot() template.HTML {
	return graphs.Shares("share of images kept, the most certain first", "mean soft Dice ×100", statistics.Tabulate(len(r.Risk), func(i int) graphs.Series {
		return graphs.Risk(r.Risk[i].index, r.Risk[i].Curve)
	})...).Inline("risk–coverage curve")
}
