package agree

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
	"mrprism/weights"
)

// deliver writes the files, if a folder is named, and then prints the table. It tries each of them
// even if another fails.
func (r *Report) deliver(out string, stdout io.Writer) error {
	var failed []error
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		files := map[string]func(io.Writer) error{
			"cases.csv": r.casesCSV, "pairs.csv": r.pairsCSV, "raters.csv": r.ratersCSV, "raters.md": r.markdown, "raters.html": r.page,
			"raters.json": func(w io.Writer) error { return command.WriteJSON(w, r) },
		}
		for _, c := range r.Classes {
			if d := r.dendrogram(c); d != nil {
				files["dendrogram-"+c.Class+".svg"] = d.Write
			}
		}
		for name, content := range files {
			failed = append(failed, weights.WriteAtomic(filepath.Join(out, name), content))
		}
	}
	return errors.Join(append(failed, r.print(stdout))...)
}

// casesCSV has a line for each image and structure that two or more have marked.
func (r *Report) casesCSV(w io.Writer) error {
	header := []string{"image", "structure", "raters", "mean_dice", "least_dice", "least_a", "least_b", "kappa_union", "kappa_whole", "consensus"}
	return report.WriteCSV(w, header, func(line func(...string)) {
		for _, c := range r.Classes {
			for _, d := range c.cases {
				least, a, b := "", "", ""
				if !r.Levels {
					least, a, b = report.DigitsOf(d.least), r.Raters[d.a], r.Raters[d.b]
				}
				line(d.image, c.Class, strconv.Itoa(d.raters), report.DigitsOf(d.dice), least, a, b, report.DigitsOf(d.union), report.DigitsOf(d.whole), report.DigitsOf(d.consensus))
			}
		}
	})
}

func (r *Report) pairsCSV(w io.Writer) error {
	return report.WriteCSV(w, []string{"structure", "rater_a", "rater_b", "images", "mean_dice"}, func(line func(...string)) {
		for _, c := range r.Classes {
			for _, p := range c.Pairs {
				line(c.Class, p.A, p.B, strconv.Itoa(p.Images), report.Digits(p.Dice))
			}
		}
	})
}

func (r *Report) ratersCSV(w io.Writer) error {
	header := []string{"structure", "rater", "masks", "mean_area", "mean_dice", "sensitivity", "specificity", "bias"}
	return report.WriteCSV(w, header, func(line func(...string)) {
		for _, c := range r.Classes {
			for _, m := range c.Raters {
				line(c.Class, m.Rater, strconv.Itoa(m.Masks), report.Digits(m.Area), report.Digits(m.Dice), report.Digits(m.Sensitivity), report.Digits(m.Specificity), report.Digits(m.Bias))
			}
		}
	})
}

// grid is a table of texts with a title. All forms of the report show the same grids.
type grid struct {
	Title  string
	Header []string
	Rows   [][]string
}

// levelsNote says what is missing for agreement levels.
const levelsNote = "The labels are agreement levels. They say how many experts marked a pixel and not who: the raters are not known, and there are no figures of pairs of raters, " +
	"no intraclass correlation, no rates and no dendrogram."

// summary is what stands above the grids.
func (r *Report) summary() (paragraphs []string) {
	first := fmt.Sprintf("%s: %d images, %d raters", r.Name, r.Images, len(r.Raters))
	if r.Levels {
		first = fmt.Sprintf("%s: %d images, %d agreement levels", r.Name, r.Images, len(r.Raters))
	}
	paragraphs = []string{first}
	if r.Of > 0 {
		paragraphs = append(paragraphs, fmt.Sprintf("stopped before all %d images were read", r.Of))
	}
	if r.Levels {
		paragraphs = append(paragraphs, levelsNote)
	}
	for _, c := range r.Classes {
		if c.Skipped > 0 {
			paragraphs = append(paragraphs, fmt.Sprintf("%s: left out are %d images that fewer than two have marked, or that lack a level", c.Class, c.Skipped))
		}
	}
	return paragraphs
}

// grids are the tables of the report.
func (r *Report) grids() []grid {
	all := []grid{r.agreement()}
	for _, c := range r.Classes {
		if !r.Levels {
			all = append(all, c.dice(r.Raters))
		}
		all = append(all, c.people(r.Levels), c.disagreements(r.Levels))
	}
	return all
}

// agreement has a row for each structure.
func (r *Report) agreement() grid {
	g := grid{"Agreement. Dice and consensus ×100, with 95 % intervals", []string{"", "images", "Dice of pairs", "κ in the union", "κ in the image", "consensus", "ICC of areas"}, nil}
	for _, c := range r.Classes {
		area := "–"
		if c.Area != nil {
			area = c.Area.text()
		}
		g.Rows = append(g.Rows, []string{c.Class, strconv.Itoa(c.Images), report.Plain(c.Dice, 100, 1), c.KappaUnion.text(c.Images), c.KappaWhole.text(c.Images), report.Plain(c.Consensus, 100, 1), area})
	}
	if r.Ratio != nil {
		g.Rows = append(g.Rows, []string{"vertical cup/disc ratio", strconv.Itoa(r.Ratio.Images), "", "", "", "", r.Ratio.text()})
	}
	return g
}

// text is the figure, with the number of images if it is not defined in all.
func (k kappaReport) text(images int) string {
	if k.Images < images && k.Images > 0 {
		return fmt.Sprintf("%s, %d images", report.Plain(k.Interval, 1, 3), k.Images)
	}
	return report.Plain(k.Interval, 1, 3)
}

func (c *correlationReport) text() string {
	if c.ICC == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f, %d images", *c.ICC, c.Images)
}

// scaled is a figure; a dash for nil.
func scaled(form string, v *float64, by float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(form, by**v)
}

// dice has a row and a column for each rater.
func (c *classAgreement) dice(raters []string) grid {
	g := grid{Title: c.Class + ": mean Dice ×100 of pairs of raters", Header: append([]string{""}, raters...)}
	for m, rater := range raters {
		row := []string{rater}
		for o := range raters {
			switch low, high := min(m, o), max(m, o); {
			case o == m:
				row = append(row, "")
			default:
				row = append(row, scaled("%.1f", statistics.Defined(c.mean[high][low]), 100))
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// people has a row for each rater or level.
func (c *classAgreement) people(levels bool) grid {
	if levels {
		g := grid{c.Class + ": the levels", []string{"", "masks", "mean area, % of the image"}, nil}
		for _, m := range c.Raters {
			g.Rows = append(g.Rows, []string{m.Rater, strconv.Itoa(m.Masks), scaled("%.2f", m.Area, 100)})
		}
		return g
	}
	g := grid{c.Class + ": the raters beside STAPLE; percent, bias as change of area", []string{"", "masks", "mean area", "Dice with the others", "sensitivity", "specificity", "bias"}, nil}
	for _, m := range c.Raters {
		bias := "–"
		if m.Bias != nil {
			bias = fmt.Sprintf("%+.1f", 100*math.Expm1(*m.Bias))
		}
		g.Rows = append(g.Rows, []string{m.Rater, strconv.Itoa(m.Masks), scaled("%.2f", m.Area, 100), scaled("%.1f", m.Dice, 100),
			scaled("%.1f", m.Sensitivity, 100), scaled("%.2f", m.Specificity, 100), bias})
	}
	return g
}

// disagreements has a row for each of the worst images.
func (c *classAgreement) disagreements(levels bool) grid {
	if levels {
		g := grid{c.Class + ": least agreement", []string{"image", "consensus, %"}, nil}
		for _, w := range c.Worst {
			g.Rows = append(g.Rows, []string{w.Image, scaled("%.1f", w.Consensus, 100)})
		}
		return g
	}
	g := grid{c.Class + ": least agreement. Dice ×100", []string{"image", "mean Dice", "farthest pair", "their Dice"}, nil}
	for _, w := range c.Worst {
		g.Rows = append(g.Rows, []string{w.Image, scaled("%.1f", w.Dice, 100), w.A + ", " + w.B, scaled("%.1f", w.Least, 100)})
	}
	return g
}

// print prints the tables for a terminal.
func (r *Report) print(stdout io.Writer) error {
	t := command.NewTable(2, 0)
	for _, text := range r.summary() {
		t.Line("%s", text)
	}
	for _, g := range r.grids() {
		t.Title("%s", g.Title)
		t.Line("%s", strings.Join(g.Header, "\t"))
		for _, row := range g.Rows {
			t.Line("%s", strings.Join(row, "\t"))
		}
	}
	return t.Print(stdout)
}

// markdown writes the report as Markdown.
func (r *Report) markdown(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# Agreement of the raters of %s\n", r.Name)
	for _, text := range r.summary() {
		fmt.Fprintf(&out, "\n%s\n", text)
	}
	for _, g := range r.grids() {
		fmt.Fprintf(&out, "\n## %s\n\n| %s |\n|%s\n", g.Title, strings.Join(g.Header, " | "), strings.Repeat("---|", len(g.Header)))
		for _, row := range g.Rows {
			fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
