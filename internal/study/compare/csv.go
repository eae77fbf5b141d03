package compare

import (
	"fmt"
	"io"
	"strconv"

	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
)

// casesCSV writes a line for each image, class, method and pass.
func (r *Comparison) casesCSV(w io.Writer) error {
	header := append([]string{"folder", "image", "class", "method", "pass"}, figureKeys()...)
	for _, what := range []string{"dice_with_", "head_dice_"} {
		for _, rater := range r.Raters {
			header = append(header, what+rater)
		}
	}
	return report.WriteCSV(w, header, func(line func(...string)) {
		for _, one := range r.records {
			for k, class := range r.Classes {
				for i, m := range r.Methods {
					for pass := range m.Passes {
						if record := one.methods[i][k]; record != nil {
							line(append([]string{one.Folder, one.Name, class.Class, m.Name, strconv.Itoa(pass)}, record.cells(pass, len(r.Raters))...)...)
						}
					}
				}
			}
		}
	})
}

// figureKeys are the names of the figures.
func figureKeys() []string {
	return statistics.Tabulate(len(score.AllFigures), func(i int) string { return score.AllFigures[i].Key })
}

// cells are the figures of a pass, and of the raters beside the last pass.
func (r *record) cells(pass, raters int) (cells []string) {
	for _, v := range r.passes[pass] {
		cells = append(cells, report.DigitsOf(v))
	}
	for _, dices := range [][]float64{r.mask, r.heads} {
		for m := range raters {
			if dices == nil || pass < len(r.passes)-1 {
				cells = append(cells, "")
				continue
			}
			cells = append(cells, report.DigitsOf(dices[m]))
		}
	}
	return cells
}

var summaryColumns = []string{
	"class", "method", "pass", "figure", "images", "undefined", "mean", "low", "high",
	"against", "pairs", "difference", "difference_low", "difference_high", "p", "p_holm",
}

// summaryCSV writes a line for each class, method, pass and figure, with the test of the last pass.
func (r *Comparison) summaryCSV(w io.Writer) error {
	return report.WriteCSV(w, summaryColumns, func(line func(...string)) {
		for _, class := range r.Classes {
			for _, m := range class.Methods {
				for pass, all := range m.Passes {
					for _, key := range figureKeys() {
						if e := all[key]; e != nil {
							cells := append([]string{class.Class, m.Method, strconv.Itoa(pass), key}, e.cells()...)
							line(append(cells, class.testCells(m, pass, key)...)...)
						}
					}
				}
			}
		}
	})
}

func (e *estimate) cells() []string {
	return []string{strconv.Itoa(e.Images), strconv.Itoa(e.Undefined), report.DigitsOf(e.Mean), report.Digits(e.Low), report.Digits(e.High)}
}

func (c *classComparison) testCells(m methodSummary, pass int, figure string) []string {
	t := c.Test(m.Method, figure)
	if t == nil || pass < len(m.Passes)-1 {
		return make([]string, 7)
	}
	d := t.Difference
	return []string{t.Against, strconv.Itoa(t.Images), report.DigitsOf(d.Mean), report.Digits(d.Low), report.Digits(d.High), report.DigitsOf(t.P), report.DigitsOf(t.Holm)}
}

// subject says what was compared with what.
func (r *Comparison) subject() string {
	text := fmt.Sprintf("%s, %s: %d images, against %s", r.Data, r.Split, r.Images, r.referenceName())
	if r.Images < r.Of {
		text += fmt.Sprintf(" (%d of the split's %d were not scored)", r.Of-r.Images, r.Of)
	}
	return text
}

// remarks calls line for each note, and for each kind of trouble.
func (r *Comparison) remarks(line func(string)) {
	for _, note := range r.Notes {
		line(note)
	}
	for _, c := range r.Classes {
		if c.Unmarked > 0 {
			line(fmt.Sprintf("%s: %d images have no reference and no figure", c.Class, c.Unmarked))
		}
	}
	for _, n := range r.Counted() {
		who := n.Method
		if who == "" {
			who = "the data set"
		}
		line(fmt.Sprintf("%s: %d left out (%s), in no figure", who, n.Count, n.Kind))
	}
}
