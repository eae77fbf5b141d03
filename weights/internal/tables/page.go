//go:build !js

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/weights"
)

// values are a figure of the images that two methods share, in one order.
func (s means) values(class, figure, a, b string) (x, y []float64) {
	first, second := s[key{class, a, figure}], s[key{class, b, figure}]
	var names []string
	for name := range first {
		if _, both := second[name]; both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		x, y = append(x, first[name]), append(y, second[name])
	}
	return x, y
}

// write writes a page for each table.
func (r *runner) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, d := range dataSets {
		if err := r.collect(d); err != nil {
			return err
		}
	}
	for _, t := range tables() {
		text, found, err := r.page(t)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		err = weights.WriteAtomic(filepath.Join(folder, t.name+".md"), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// page is a table's page. It is not found if nothing has been compared.
func (r *runner) page(t table) (text string, found bool, err error) {
	var page strings.Builder
	base := t.rows[0]
	fmt.Fprintf(&page, `# %s

Every row trains the same encoder and decoder (compact) from random weights: %d steps of %d images of %d², or of 64² where
they are generated. Scored on the held-out fifth, on which nothing was chosen. A figure is the mean over images of the mean
over seeds. Brackets hold the 95 %% interval of a bootstrap over images. Δ is the difference of soft Dice to the first row,
"%s". p is of Wilcoxon's signed-rank test over images, with Holm's correction over the rows.
`, t.title, r.steps, images, r.side, base.title)
	fmt.Fprintf(&page, "\n`make tables` trains what is missing and writes this page. The scores of each image are in [scores](../../internal/tables/scores).\n")
	for _, d := range dataSets {
		all, classes, seeds, err := r.read(d)
		if err != nil {
			return "", false, err
		}
		for _, class := range classes {
			lines := r.lines(t, class, all, seeds)
			if len(lines) == 0 {
				continue
			}
			found = true
			reference := "the mean vote"
			if d.truth {
				reference = "the truth"
			}
			fmt.Fprintf(&page, "\n## %s, %s, against %s\n\n", d.name, class, reference)
			fmt.Fprintln(&page, "| method | seeds | soft Dice ×100 | Δ | p | ECE ×100 | Brier ×100 |\n|---|---|---|---|---|---|---|")
			for _, line := range lines {
				fmt.Fprintln(&page, line)
			}
		}
	}
	return page.String(), found, nil
}

// lines are the rows of a structure. A page needs two.
func (r *runner) lines(t table, class string, all means, seeds map[string]int) (lines []string) {
	type row struct {
		entry
		method string
	}
	var rows []row
	for _, e := range t.rows {
		for _, ending := range []string{"", "-time"} {
			if all[key{class, e.name + ending, figures[0].name}] != nil {
				rows = append(rows, row{e, e.name + ending})
			}
		}
	}
	if len(rows) < 2 {
		return nil
	}
	p := make([]float64, len(rows))
	for i, x := range rows {
		own, base := all.values(class, figures[0].name, x.method, rows[0].method)
		p[i] = metric.Wilcoxon(differences(own, base))
	}
	holm := metric.Holm(p[1:])
	for i, x := range rows {
		title, _, _ := strings.Cut(x.title, ": ")
		cells := []string{title, strconv.Itoa(seeds[x.method])}
		if strings.HasSuffix(x.method, "-time") {
			cells[0] += ", equal time"
		}
		for f, about := range figures {
			own, base := all.values(class, about.name, x.method, rows[0].method)
			cells = append(cells, interval(own, about.factor, f == 0))
			if f > 0 {
				continue
			}
			if i == 0 {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, signed(differences(own, base), about.factor), probability(holm[i-1]))
		}
		lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
	}
	return lines
}

func differences(a, b []float64) (d []float64) {
	for i := range a {
		d = append(d, a[i]-b[i])
	}
	return d
}

const resamples = 2000

// interval writes a mean, with its interval if it is wanted.
func interval(values []float64, factor float64, wanted bool) string {
	i := metric.Bootstrap(values, resamples, 1)
	text := fmt.Sprintf("%.1f", factor*i.Mean)
	if wanted && i.Low != nil {
		text += fmt.Sprintf(" [%.1f, %.1f]", factor**i.Low, factor**i.High)
	}
	return text
}

func signed(values []float64, factor float64) string {
	i := metric.Bootstrap(values, resamples, 1)
	if i.Low == nil {
		return fmt.Sprintf("%+.1f", factor*i.Mean)
	}
	return fmt.Sprintf("%+.1f [%+.1f, %+.1f]", factor*i.Mean, factor**i.Low, factor**i.High)
}

func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.001:
		return "< .001"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", p), "0")
}
