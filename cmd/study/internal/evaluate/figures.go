package evaluate

import (
	"fmt"
	"math"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
	"mrprism/weights"
)

// figures are those of a structure in an image for Rec0 to RecN. The JSON has the mean of each over
// the images that have it.
func figures(n int) (all []display.Figure[*classScore]) {
	add := func(csv, path, title string, scale float64, digits int, signed bool, of func(c *classScore) float64) {
		all = append(all, display.Figure[*classScore]{CSV: csv, Path: path, Title: title, Scale: scale, Digits: digits, Signed: signed, Of: of})
	}
	truth := func(i int) func(*classScore) float64 {
		return func(c *classScore) float64 {
			if c.Truth == nil {
				return math.NaN()
			}
			return c.Truth[i]
		}
	}
	less := func(a, b func(*classScore) float64) func(*classScore) float64 {
		return func(c *classScore) float64 { return a(c) - b(c) }
	}
	for i := range n + 1 {
		add(fmt.Sprintf("soft_dice_rec%d", i), "softDice.-", fmt.Sprintf("soft Dice ×100 against the mean vote, Rec%d", i), 100, 2, false, func(c *classScore) float64 { return c.SoftDice[i] })
	}
	add("", "softDiceMarked", "  where somebody marked a pixel", 100, 2, false, func(c *classScore) float64 {
		if c.Unmarked {
			return math.NaN()
		}
		return c.SoftDice[n]
	})
	all[len(all)-1].Partial = true
	if n > 0 {
		add("", "gain", fmt.Sprintf("  Rec%d − Rec0", n), 100, 2, true, func(c *classScore) float64 { return c.SoftDice[n] - c.SoftDice[0] })
	}
	for i := range n + 1 {
		add(fmt.Sprintf("dice_truth_rec%d", i), "truth.dice.passes.-", fmt.Sprintf("Dice ×100 beside the truth, Rec%d", i), 100, 2, false, truth(i))
		all[len(all)-1].Items = "truth.images"
	}
	if n > 0 {
		add("", "truth.dice.gain", fmt.Sprintf("  Dice, Rec%d − Rec0", n), 100, 2, true, less(truth(n), truth(0)))
	}
	add("hausdorff95_pixels", "agreement.hausdorff95", "95 % Hausdorff distance from the majority, pixels", 1, 1, false, func(c *classScore) float64 { return statistics.Number(c.Agreement.Hausdorff) })
	all[len(all)-1].Always = true
	ofSet := func(of func(*set) float64) func(*classScore) float64 {
		return func(c *classScore) float64 {
			if c.Set == nil {
				return math.NaN()
			}
			return of(c.Set)
		}
	}
	add("energy_distance", "set.generalizedEnergyDistance", "", 1, 3, false, ofSet(func(s *set) float64 { return s.Energy }))
	add("dice_max", "set.diceMax", "", 100, 1, false, ofSet(func(s *set) float64 { return s.Max }))
	add("dice_match", "set.diceMatch", "", 100, 1, false, ofSet(func(s *set) float64 { return statistics.Number(s.Match) }))
	own := func(c *classScore) float64 { own, _ := means(c.Heads); return own }
	others := func(c *classScore) float64 { _, others := means(c.Heads); return others }
	add("own_dice", "heads.own", "Dice ×100 of a head with its own rater", 100, 1, false, own)
	add("", "heads.others", "  with the others", 100, 1, false, others)
	add("", "heads.margin", "  own − others", 100, 1, true, less(own, others))
	add("", "heads.raters", "  among the marks themselves", 100, 1, false, func(c *classScore) float64 { _, others := means(c.Raters); return others })
	return all
}

// means are the means of a matrix's diagonal and of the rest; NaN without values.
func means(matrix [][]*float64) (diagonal, rest float64) {
	var on, off []float64
	for i, row := range matrix {
		for j, d := range row {
			switch {
			case d == nil:
			case i == j:
				on = append(on, *d)
			default:
				off = append(off, *d)
			}
		}
	}
	return metric.Mean(on), metric.Mean(off)
}

// structure is a structure over all images in which it is marked: as the JSON has it, and as
// tables.
type structure struct {
	display.Tree
	name   string
	tables []report.Table
}

// structure gathers class k.
func (s *study) structure(k int) structure {
	scores, name := s.marked(k), s.data.Classes[k]
	out := structure{name: name, Tree: display.Tree{"class": name, "images": len(scores), "unmarked": 0, "bothEmpty": 0, "softDiceMarked": nil, "softDice": nil}}
	if len(scores) == 0 {
		return out
	}
	t := report.Table{Title: fmt.Sprintf("%s, %d images: passes, and the raters", name, len(scores)), Columns: report.Columns("", "mean", "not defined in")}
	for _, f := range figures(s.Recurrences) {
		values := statistics.Values(scores, f.Of)
		least, most := f.Range()
		mean, undefined := statistics.MeanWithin(least, most, scores, f.Of), len(scores)-len(values)
		if f.Always {
			out.Put(f.Path+"Undefined", undefined)
		}
		if mean != nil {
			out.Put(f.Path, mean)
		}
		if f.Items != "" && mean != nil {
			out.Put(f.Items, len(values))
		}
		if f.Title != "" && (mean != nil || f.Always) && (undefined > 0 || !f.Partial) {
			t.Add(f.Title, f.Text(mean), undefined)
		}
	}
	count := func(path, title string, is func(*classScore) bool) {
		n := len(statistics.Filter(scores, is))
		if out.Put(path, n); n > 0 {
			t.Add(title, n, "")
		}
	}
	count("unmarked", "images in which every mark is empty: a threshold that the mask does not reach counts 100", func(c *classScore) bool { return c.Unmarked })
	count("oneEmpty", "images in which mask or majority alone is empty: their distance is the image's diagonal", func(c *classScore) bool { return c.OneEmpty })
	count("bothEmpty", "  of these, those whose mask is empty above one half", func(c *classScore) bool { return c.BothEmpty })
	out.tables = []report.Table{t}
	if scores[0].Heads != nil {
		out.heads(name, scores, s.data.Raters, s.session.Model.Metadata.Labels)
		if marks := s.marksReport(k); marks != nil {
			out.Put("marks", marks)
			out.tables = append(out.tables, marks.tables(name)...)
		}
	}
	out.responses(name, scores, s.data.Raters, s.session.Model.Metadata.Panels)
	return out
}

// heads adds the means of heads (rows) by raters, or by levels.
func (out *structure) heads(class string, scores []*classScore, raters []string, labels string) {
	kind := "rater"
	if labels == weights.LabelsAgreementLevels {
		kind = "level"
	}
	matrix := statistics.Tabulate(len(raters), func(i int) []*float64 {
		return statistics.Tabulate(len(raters), func(j int) *float64 {
			return statistics.Defined(metric.Mean(statistics.Values(scores, func(c *classScore) float64 { return statistics.Number(c.Heads[i][j]) })))
		})
	})
	out.Put("heads.dice", matrix)
	title := fmt.Sprintf("%s: Dice ×100 of each head (row) with each %s (column)", class, kind)
	out.tables = append(out.tables, report.Matrix(title, raters, func(i, j int) string { return report.Scaled("%.1f", matrix[i][j], 100) }))
}
