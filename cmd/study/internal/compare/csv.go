package compare

import (
	"fmt"
	"io"

	"mrprism/cmd/study/internal/score"
	"mrprism/internal/study/report"
)

// casesCSV writes a line for each image, class, run of a method, and pass. The Dice with raters
// stand beside the last pass.
func (r *Comparison) casesCSV(w io.Writer) error {
	header := []string{"folder", "image", "group", "class", "method", "run", "pass"}
	for _, f := range score.Figures {
		header = append(header, f.Key)
	}
	for _, what := range []string{"dice_with_", "head_dice_"} {
		for _, rater := range r.Raters {
			header = append(header, what+rater)
		}
	}
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, one := range r.images {
			for k, class := range r.Classes {
				for i, m := range r.Methods {
					for pass := range m.Passes {
						if row := one.Rows[i][k]; row != nil {
							line(append([]any{one.Folder, one.Name, one.Group, class.Class, m.Name, max(1, m.Run), pass}, row.cells(pass)...)...)
						}
					}
				}
			}
		}
	})
}

// cells are the figures of a pass, and of the raters.
func (r *Row) cells(pass int) (cells []any) {
	for _, v := range r.Passes[pass] {
		cells = append(cells, v)
	}
	for _, dice := range []func(m int) float64{func(m int) float64 { return r.Mask[m] }, r.head} {
		for m := range r.Mask {
			if pass < len(r.Passes)-1 {
				cells = append(cells, "")
				continue
			}
			cells = append(cells, dice(m))
		}
	}
	return cells
}

var summaryColumns = []string{
	"class", "method", "runs", "pass", "figure", "images", "undefined", "one_empty", "units", "mean", "low", "high", "best",
	"against", "difference_runs", "difference_units", "difference", "difference_low", "difference_high", "effect", "p", "p_holm",
}

// summaryCSV writes a line for each class, method, pass and figure, with the test of the last pass.
func (r *Comparison) summaryCSV(w io.Writer) error {
	return report.WriteCSV(w, summaryColumns, func(line func(...any)) {
		for _, class := range r.Classes {
			for _, m := range class.Methods {
				for pass, all := range m.Passes {
					for _, f := range score.Figures {
						e, t := all[f.Key], class.Test(m.Method, f.Key)
						if e == nil {
							continue
						}
						last := pass == len(m.Passes)-1
						cells := []any{class.Class, m.Method, m.Runs, pass, f.Key, e.Images, e.Undefined, e.OneEmpty, e.N, e.Mean, e.Low, e.High, last && class.Best[f.Key] == m.Method}
						if t == nil || !last {
							line(append(cells, "", "", "", "", "", "", "", "", "")...)
							continue
						}
						d := t.Difference
						line(append(cells, t.Against, class.runs(m), d.N, d.Mean, d.Low, d.High, d.Effect, t.P, t.Holm)...)
					}
				}
			}
		}
	})
}

// subject says what was compared with what.
func (r *Comparison) subject() string {
	text := fmt.Sprintf("%s, %s: %d images%s, against %s", r.Data, r.Split, r.Images, report.OfGroups(r.Images, r.Units), r.referenceName())
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
