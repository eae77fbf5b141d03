//go:build !js

package main

import (
	"encoding/csv"
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

// scores are a figure of each image, by class, method and image: the mean over the seeds.
type scores map[key]map[string]float64

type key struct{ class, method, figure string }

// figures of cases.csv that the pages show. The first is tested.
var figures = []struct {
	name, title string
	factor      float64
}{{"soft_dice", "soft Dice ×100", 100}, {"ece", "ECE ×100", 100}, {"brier", "Brier ×100", 100}}

// read reads the comparisons of a data set. seeds is how many there are of each method.
func (r *runner) read(d data) (all scores, classes []string, seeds map[string]int, err error) {
	all, seeds = scores{}, map[string]int{}
	counts := map[key]map[string]int{}
	for seed := 1; seed <= r.seeds; seed++ {
		rows, err := records(filepath.Join(r.compared(d, seed), "cases.csv"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		seen := map[string]bool{}
		for _, row := range last(rows) {
			if !slices.Contains(classes, row["class"]) {
				classes = append(classes, row["class"])
			}
			if !seen[row["method"]] {
				seen[row["method"]] = true
				seeds[row["method"]]++
			}
			for _, f := range figures {
				v, err := strconv.ParseFloat(row[f.name], 64)
				if err != nil {
					continue // the figure is undefined in this image
				}
				k := key{row["class"], row["method"], f.name}
				if all[k] == nil {
					all[k], counts[k] = map[string]float64{}, map[string]int{}
				}
				n := float64(counts[k][row["image"]])
				all[k][row["image"]] = (all[k][row["image"]]*n + v) / (n + 1)
				counts[k][row["image"]]++
			}
		}
	}
	return all, classes, seeds, nil
}

// records reads a table with a header.
func records(path string) (rows []map[string]string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// last keeps each image's last pass.
func last(rows []map[string]string) (kept []map[string]string) {
	at := map[[3]string]int{}
	for _, row := range rows {
		k := [3]string{row["class"], row["method"], row["image"]}
		if i, found := at[k]; found {
			kept[i] = row // passes stand in their order
			continue
		}
		at[k] = len(kept)
		kept = append(kept, row)
	}
	return kept
}

// values are a figure of the images that two methods share, in one order.
func (s scores) values(class, figure, a, b string) (x, y []float64) {
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
	fmt.Fprintf(&page, "\n`make tables` trains what is missing and writes this page.\n")
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
func (r *runner) lines(t table, class string, all scores, seeds map[string]int) (lines []string) {
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
		cells := []string{x.title, strconv.Itoa(seeds[x.method])}
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
