//go:build !js

package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/cells"
	"mrprism/weights"
)

// score is a figure of one run on the held-out images of a structure. Scores are kept in the
// repository, a file for each data set: trainings take hours, and their folders do not stay.
type score struct {
	class, method, figure string
	seed                  int
	kept                  string             // when it came, such as 2026-11-28 12:07; of old ones, by the history of commits
	of                    map[string]float64 // by image, or by patient; one lacks it where the figure is undefined
}

// figure is a column of cases.csv that is kept and shown.
type figure struct {
	name, title string
	factor      float64
	digits      int
}

// masks are the figures of a mask, samples those of sets of possible marks.
var (
	masks   = []figure{{"soft_dice", "soft Dice ×100", 100, 1}, {"ece", "ECE ×100", 100, 1}, {"brier", "Brier ×100", 100, 1}}
	samples = []figure{{"ged_drawn", fmt.Sprintf("GED of %d", draws), 1, 3}, {"ged", "GED of heads", 1, 3}, {"dice_max", "Dice_max ×100", 100, 1}, {"dice_match", "Dice_match ×100", 100, 1}}
)

// draws is how many masks each method draws where slots of raters are not people.
const draws = 16

// primary is the figure in which rows differ from the first.
var primary = masks[0]

// figures are those that are kept of a data set.
func (d data) figures() []figure {
	kept := masks
	for _, t := range tables() {
		if t.covers(d) && len(t.figures) > len(kept) {
			kept = t.figures
		}
	}
	return kept
}

// known are the columns of a file of scores before those of the images.
var known = []string{"class", "method", "seed", "kept", "figure"}

func (r *runner) scoresFile(d data) string { return filepath.Join(r.scores, d.name+".csv") }

// kept reads the scores of a data set; nil if there are none.
func (r *runner) kept(d data) (all []score, err error) {
	rows, err := records(r.scoresFile(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		s := score{class: row["class"], method: row["method"], figure: row["figure"], kept: row["kept"], of: map[string]float64{}}
		if s.seed, err = strconv.Atoi(row["seed"]); err != nil {
			return nil, fmt.Errorf("%s: %w", r.scoresFile(d), err)
		}
		for name, text := range row {
			if slices.Contains(known, name) || text == "" {
				continue
			}
			if s.of[name], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", r.scoresFile(d), err)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// collect adds what the comparisons in the folder of trainings say to the scores of a data set.
func (r *runner) collect(d data) error {
	all, err := r.kept(d)
	if err != nil {
		return err
	}
	found := false
	for seed := 1; seed <= r.seeds; seed++ {
		rows, err := records(filepath.Join(r.compared(d, seed), "cases.csv"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		added, err := r.scored(d, seed, last(rows))
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(old score) bool {
			at := slices.IndexFunc(added, old.is)
			if at >= 0 {
				added[at].kept = old.kept
			}
			return at >= 0
		})
		all, found = append(all, added...), true
	}
	if !found {
		return nil
	}
	return r.keep(d, all)
}

// is says whether both are the same figure of the same run.
func (s score) is(other score) bool {
	return s.class == other.class && s.method == other.method && s.figure == other.figure && s.seed == other.seed
}

// scored are the scores in rows of a comparison.
func (r *runner) scored(d data, seed int, rows []map[string]string) (added []score, err error) {
	at := map[[3]string]int{}
	var sums, counts []map[string]float64 // by added score and unit
	units, err := r.units(d)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		method := row["method"]
		unit := cmp.Or(units[row["image"]], row["image"])
		if d.drawn != "" { // each panel has images of its own
			unit = fmt.Sprintf("panel%d %s", seed, unit)
		}
		for _, f := range d.figures() {
			k := [3]string{row["class"], method, f.name}
			i, there := at[k]
			if !there {
				i = len(added)
				sums, counts = append(sums, map[string]float64{}), append(counts, map[string]float64{})
				at[k], added = i, append(added, score{row["class"], method, f.name, seed, time.Now().UTC().Format("2006-01-02 15:04"), map[string]float64{}})
			}
			if v, err := strconv.ParseFloat(row[f.name], 64); err == nil { // otherwise it is undefined in this image
				sums[i][unit] += v
				counts[i][unit]++
			}
		}
	}
	for i := range added {
		for unit, n := range counts[i] {
			added[i].of[unit] = sums[i][unit] / n
		}
	}
	return added, nil
}

// units are the patients of images, if a score is the mean over a patient's images.
func (r *runner) units(d data) (map[string]string, error) {
	units := map[string]string{}
	if !d.patients {
		return units, nil
	}
	set, err := dataset.Open(filepath.Join(r.shared, d.folder))
	if err != nil {
		return nil, err
	}
	for _, c := range set.Cases {
		units[c.Name] = c.Group
	}
	return units, nil
}

// keep writes the scores of a data set, in an order that does not depend on when they came.
func (r *runner) keep(d data, all []score) error {
	slices.SortFunc(all, func(a, b score) int {
		return slices.Compare([]string{a.class, a.method, strconv.Itoa(a.seed), a.figure}, []string{b.class, b.method, strconv.Itoa(b.seed), b.figure})
	})
	images := map[string]bool{}
	for _, s := range all {
		for name := range s.of {
			images[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(images))
	lines := [][]string{append(slices.Clone(known), names...)}
	for _, s := range all {
		line := []string{s.class, s.method, strconv.Itoa(s.seed), s.kept, s.figure}
		for _, name := range names {
			text := ""
			if v, there := s.of[name]; there {
				text = fmt.Sprintf("%.4f", v)
			}
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	if err := os.MkdirAll(r.scores, 0o755); err != nil {
		return err
	}
	return weights.WriteAtomic(r.scoresFile(d), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(lines) })
}

// done are the runs of a data set whose scores are kept, by name.
func (r *runner) done(d data) (map[string]bool, error) {
	all, err := r.kept(d)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, s := range all {
		names[fmt.Sprintf("%s-seed%d", s.method, s.seed)] = true
	}
	return names, nil
}

// results are scores by class, method and figure, then by seed.
type results map[key]map[int]score

type key struct{ class, method, figure string }

// read reads the scores of a data set.
func (r *runner) read(d data) (all results, classes []string, err error) {
	kept, err := r.kept(d)
	if err != nil {
		return nil, nil, err
	}
	all = results{}
	for _, s := range kept {
		if !slices.Contains(classes, s.class) {
			classes = append(classes, s.class)
		}
		k := key{s.class, s.method, s.figure}
		if all[k] == nil {
			all[k] = map[int]score{}
		}
		all[k][s.seed] = s
	}
	return all, classes, nil
}

// values are a figure by seed and image, in the order of their numbers and names; NaN where a seed
// has no such image.
func (all results) values(k key) [][]float64 {
	return all.table(k, func(seed int, image string) (float64, bool) {
		v, there := all[k][seed].of[image]
		return v, there
	})
}

// differences are those of a figure between a and b, as values has them, where both have it.
func (all results) differences(a, b key) [][]float64 {
	return all.table(a, func(seed int, image string) (float64, bool) {
		v, there := all[a][seed].of[image]
		base, both := all[b][seed].of[image]
		return v - base, there && both
	})
}

// firstLook is how many of the seeds that a and b have in common were there when their difference
// could first be read.
func (all results) firstLook(a, b key) (seeds int) {
	earliest := ""
	for seed, s := range all[a] {
		other, both := all[b][seed]
		switch when := max(s.kept, other.kept); {
		case !both:
		case seeds == 0 || when < earliest:
			earliest, seeds = when, 1
		case when == earliest:
			seeds++
		}
	}
	return seeds
}

func (all results) table(k key, value func(seed int, image string) (float64, bool)) (rows [][]float64) {
	images := map[string]bool{}
	for _, s := range all[k] {
		for image := range s.of {
			images[image] = true
		}
	}
	names := slices.Sorted(maps.Keys(images))
	for _, seed := range slices.Sorted(maps.Keys(all[k])) {
		row := make([]float64, len(names))
		for i, image := range names {
			v, there := value(seed, image)
			if row[i] = v; !there {
				row[i] = math.NaN()
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// records reads a table with a header.
func records(path string) (rows []map[string]string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, cut, err := cells.Read(data)
	if cut {
		err = errors.New("its last line is cut off")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, line := range t.Lines {
		row := map[string]string{}
		for i, name := range t.Columns {
			row[name] = cells.Bare(line[i])
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
