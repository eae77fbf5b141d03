package readers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/statistics"
)

// Kinds of figures: the truth is 0 or 1, another number, or not given.
const AUC, Error, Mean = "AUC", "mean absolute error", "mean"

// Analysis is a figure of several readers.
type Analysis struct {
	Figure     string     `json:"figure"` // the column
	Kind       string     `json:"kind"`   // AUC, mean absolute error or mean
	Images     int        `json:"images"` // that all readers have judged in all modalities
	Of         int        `json:"of"`     // that some reader has judged
	Patients   int        `json:"patients"`
	Positives  int        `json:"positives"` // images with the truth 1, for AUC
	Estimates  []Estimate `json:"estimates"` // of each reader, then of all; by view, then by modality
	Components Components `json:"components"`
}

// Analyse compares readers by a column of the readings, over the cases that all of them have judged
// in all modalities. Second readings do not count. truth may be nil. An error says what is missing.
func Analyse(t, truth *Table, column string) (*Analysis, error) {
	a := &Analysis{Figure: column, Kind: Mean}
	values, y, most := t.values(column, false), make([]float64, len(t.Cases)), math.Inf(1)
	if truth != nil {
		known := truth.values(column, false)[0][0]
		if a.Kind, most = AUC, 1; slices.ContainsFunc(known, func(v float64) bool { return !math.IsNaN(v) && v != 0 && v != 1 }) {
			a.Kind, most = Error, math.Inf(1)
		}
		for i, of := range t.Cases {
			y[i] = math.NaN()
			if at, is := slices.BinarySearch(truth.Cases, of); is {
				y[i] = known[at]
			}
		}
	}
	var untrue []string
	for i, of := range t.Cases {
		judged := false
		for _, x := range slices.Concat(values...) {
			judged = judged || !math.IsNaN(x[i])
			x[i] += 0 * y[i] // NaN without a truth
		}
		if judged && math.IsNaN(y[i]) {
			untrue = append(untrue, of)
		} else if judged {
			a.Of++
		}
	}
	t.Notes[column+": images without a truth, left out"] = untrue
	readers, images, counts := t.common(column, values)
	units, patients := t.units(images)
	a.Images, a.Patients = len(images), patients
	y = statistics.Tabulate(len(images), func(i int) float64 { return y[images[i]] })
	if err := a.check(y, units); err != nil {
		return nil, fmt.Errorf("%w. Images with a truth that each has judged: %s", err, strings.Join(counts, "; "))
	}
	g := grid(statistics.Tabulate(len(values), func(m int) []figure {
		return statistics.Tabulate(len(readers), func(j int) figure {
			return a.jackknife(statistics.Tabulate(len(images), func(i int) float64 { return values[m][readers[j]][images[i]] }), y, units)
		})
	}))
	a.Components, _ = g.components()
	for j, reader := range readers {
		a.add(statistics.Tabulate(len(g), func(m int) []figure { return g[m][j : j+1] }), t.Readers[reader], t.Modalities, most)
	}
	a.add(g, "", t.Modalities, most)
	return a, nil
}

// common are the readers who have values in each modality, and the cases of which all of these
// readers have one in each. counts says how many each reader has.
func (t *Table) common(column string, values [][][]float64) (readers, images []int, counts []string) {
	var few []string
	for j, reader := range t.Readers {
		least := len(t.Cases)
		for m, modality := range t.Modalities {
			n := count(values[m][j])
			least, reader = min(least, n), strings.TrimSpace(fmt.Sprint(reader, " ", n, " ", modality))
		}
		if counts = append(counts, reader); least == 0 {
			few = append(few, reader)
		} else {
			readers = append(readers, j)
		}
	}
	t.Notes[column+": readers without a figure in a modality, left out"] = few
	for i := range t.Cases {
		lacks := func(row [][]float64) bool {
			return len(readers) == 0 || slices.ContainsFunc(readers, func(j int) bool { return math.IsNaN(row[j][i]) })
		}
		if !slices.ContainsFunc(values, lacks) {
			images = append(images, i)
		}
	}
	return readers, images, counts
}

// add adds the estimates of a reader or of all: a row for each view.
func (a *Analysis) add(g grid, reader string, modalities []string, most float64) {
	columns := statistics.Tabulate(len(g), func(m int) []Estimate { return g[m : m+1].estimates(most) })
	if len(g) == 2 {
		columns, modalities = append(columns, g.estimates(most)), append(slices.Clone(modalities), Difference)
	}
	for view := range columns[0] {
		for m, column := range columns {
			column[view].Reader, column[view].Modality = reader, modalities[m]
			a.Estimates = append(a.Estimates, column[view])
		}
	}
}

// check counts the positives, and returns an error if the images are too few.
func (a *Analysis) check(y []float64, units []statistics.Unit) error {
	of := [2][]statistics.Unit{}
	for i, v := range y {
		if a.Kind == AUC {
			of[int(v)] = append(of[int(v)], units[i])
		}
	}
	a.Positives = len(of[1])
	if zeros, ones := statistics.Distinct(of[0]), statistics.Distinct(of[1]); a.Kind == AUC && min(zeros, ones) < 2 {
		return fmt.Errorf("%s: an AUC takes 2 patients with the truth 0 and 2 with 1, of whom all readers have judged images in all modalities. There are %d and %d", a.Figure, zeros, ones)
	}
	if a.Images < 4 || a.Patients < 2 {
		return fmt.Errorf("%s: it takes 4 images, of 2 patients, that all readers have judged in all modalities. There are %d, of %d", a.Figure, a.Images, a.Patients)
	}
	return nil
}

// jackknife is the figure of a reader, with and without each patient.
func (a *Analysis) jackknife(x, y []float64, units []statistics.Unit) (f figure) {
	sums := make([][2]float64, 1+a.Patients) // and of how many numbers: of all patients, and of each
	add := func(v float64, of ...statistics.Unit) {
		for _, u := range of {
			sums[u][0], sums[u][1] = sums[u][0]+v, sums[u][1]+1
		}
	}
	for i, v := range x {
		switch {
		case a.Kind == Mean:
			add(v, 0, units[i])
		case a.Kind == Error:
			add(math.Abs(v-y[i]), 0, units[i])
		case y[i] == 1: // the area is the share of pairs in which the positive ranks higher
			for k, other := range x {
				if rank := float64(1+cmp.Compare(v, other)) / 2; y[k] == 0 {
					if add(rank, 0, units[i]); units[k] != units[i] {
						add(rank, units[k])
					}
				}
			}
		}
	}
	for _, less := range sums[1:] {
		f.without = append(f.without, (sums[0][0]-less[0])/(sums[0][1]-less[1]))
	}
	f.whole = sums[0][0] / sums[0][1]
	return f
}
