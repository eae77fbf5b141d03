package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
)

// casesCSV writes a line for each image, class, method and pass.
func (r *Comparison) casesCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"folder", "image", "class", "method", "pass"}
	for _, about := range score.AllFigures {
		header = append(header, about.Key)
	}
	for _, rater := range r.Raters {
		header = append(header, "dice_with_"+rater)
	}
	for _, rater := range r.Raters {
		header = append(header, "head_dice_"+rater)
	}
	_ = out.Write(header) // Error has it
	for _, one := range r.records {
		for k, class := range r.Classes {
			for i, m := range r.Methods {
				for pass := range m.Passes {
					if record := one.methods[i][k]; record != nil {
						_ = out.Write(append([]string{one.Folder, one.Name, class.Class, m.Name, strconv.Itoa(pass)}, record.cells(pass, len(r.Raters))...))
					}
				}
			}
		}
	}
	out.Flush()
	return out.Error()
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
	out := csv.NewWriter(w)
	_ = out.Write(summaryColumns) // Error has it
	for _, class := range r.Classes {
		for _, m := range class.Methods {
			for pass, all := range m.Passes {
				for _, about := range score.AllFigures {
					if e := all[about.Key]; e != nil {
						line := append([]string{class.Class, m.Method, strconv.Itoa(pass), about.Key}, e.cells()...)
						_ = out.Write(append(line, class.testCells(m, pass, about.Key)...))
					}
				}
			}
		}
	}
	out.Flush()
	return out.Error()
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

// cellOf is a method's figure with its interval; a dash if it has none.
func cellOf(f score.Figure, m methodSummary) string {
	e := m.last()[f.Key]
	if e == nil {
		return "–"
	}
	return report.Plain(e.Interval, f.Scale, f.Digits)
}

// subject says what was compared with what.
func (r *Comparison) subject() string {
	text := fmt.Sprintf("%s, %s: %d images, against %s", r.Data, r.Split, r.Images, r.referenceName())
	if r.Images < r.Of {
		text += fmt.Sprintf(" (%d of the split's %d were not scored)", r.Of-r.Images, r.Of)
	}
	return text
}

const (
	intervalsNote = "Means over images with 95 % intervals of 2,000 bootstrap samples, at the last pass of each method. "
	testsNote     = "p: Wilcoxon's signed-rank test over the images that all methods have, against the first method, " +
		"adjusted by Holm over all tests of the figure."
)

// markdown writes the tables of the report as Markdown.
func (r *Comparison) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n%s%s\n", r.Data, r.subject(), intervalsNote, testsNote)
	for i := range r.Classes {
		if c := &r.Classes[i]; len(c.Methods) > 0 {
			c.markdown(&b)
		}
	}
	r.remarks(func(line string) { fmt.Fprintf(&b, "\n- %s", line) })
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func (c *classComparison) markdown(b *strings.Builder) {
	shown := c.shown(true)
	fmt.Fprintf(b, "\n## %s\n\n| method | images |", c.Class)
	for _, f := range shown {
		fmt.Fprintf(b, " %s |", f.Title)
	}
	b.WriteString("\n|---|---:|" + strings.Repeat("---:|", len(shown)) + "\n")
	for _, m := range c.Methods {
		fmt.Fprintf(b, "| %s | %d |", strings.ReplaceAll(m.Method, "|", "\\|"), m.Images)
		for _, f := range shown {
			cell := cellOf(f, m)
			if c.best(m, f) {
				cell = "**" + cell + "**"
			}
			if t := c.Test(m.Method, f.Key); t != nil {
				cell += ", p " + report.Equals(report.PValue(t.Holm))
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
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

// texEscaper writes text as LaTeX.
var texEscaper = strings.NewReplacer(
	"\\", `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `$<$`, ">", `$>$`,
	"×", `$\times$`, "–", "--", "−", "$-$")

// latex writes a table for the package booktabs.
func (r *Comparison) latex(w io.Writer) error {
	var b strings.Builder
	b.WriteString("% \\usepackage{booktabs}\n")
	for i := range r.Classes {
		if c := &r.Classes[i]; len(c.Methods) > 0 {
			c.latex(&b, r)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *classComparison) latex(b *strings.Builder, r *Comparison) {
	shown := c.shown(true)
	fmt.Fprintf(b, "\\begin{table}\n\\centering\n\\caption{%s.\n%s%s\nBold: the best mean. $\\dagger$: adjusted $p < 0.05$.}\n",
		texEscaper.Replace(c.Class+": "+r.subject()), texEscaper.Replace(intervalsNote), texEscaper.Replace(testsNote))
	fmt.Fprintf(b, "\\begin{tabular}{l%s}\n\\toprule\nMethod", strings.Repeat("r", len(shown)))
	for _, f := range shown {
		fmt.Fprintf(b, " & %s", texEscaper.Replace(f.Title))
	}
	b.WriteString(" \\\\\n\\midrule\n")
	for _, m := range c.Methods {
		b.WriteString(texEscaper.Replace(m.Method))
		for _, f := range shown {
			b.WriteString(" & " + c.latexCell(m, f))
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
}

// latexCell is a mean, bold if it is the best, with its interval in small print.
func (c *classComparison) latexCell(m methodSummary, f score.Figure) string {
	e := m.last()[f.Key]
	if e == nil {
		return "--"
	}
	mean, interval, _ := strings.Cut(texEscaper.Replace(report.Plain(e.Interval, f.Scale, f.Digits)), " ")
	if c.best(m, f) {
		mean = `\textbf{` + mean + `}`
	}
	if t := c.Test(m.Method, f.Key); t != nil && t.Holm < .05 {
		mean += `$^\dagger$`
	}
	if interval != "" {
		mean += ` {\scriptsize ` + interval + `}`
	}
	return mean
}

// print prints the table for a terminal, and where the report is.
func (r *Comparison) print(dir string, w io.Writer) error {
	t := command.NewTable(2, 0)
	r.Lines(t)
	if dir != "" {
		t.Line("report: %s", filepath.Join(dir, "report.html"))
	}
	return t.Print(w)
}

// Lines adds the comparison to a table for a terminal.
func (r *Comparison) Lines(t *command.Table) {
	t.Line("%s", r.subject())
	for i := range r.Classes {
		c := &r.Classes[i]
		if len(c.Methods) == 0 {
			continue
		}
		shown := c.shown(true)
		t.Title("%s, %d images (%d paired); p against %s, adjusted by Holm", c.Class, c.Images, c.Paired, c.Methods[0].Method)
		header := ""
		for _, f := range shown {
			header += "\t" + f.Title
		}
		t.Line("%s\tp of soft Dice", header)
		for _, m := range c.Methods {
			line := m.Method
			for _, f := range shown {
				line += "\t" + cellOf(f, m)
			}
			if test := c.Test(m.Method, score.AllFigures[score.SoftDice].Key); test != nil {
				line += "\t" + report.PValue(test.Holm)
			}
			t.Line("%s", line)
		}
	}
	t.Break()
	r.remarks(func(line string) { t.Line("%s", line) })
}
