package readers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Kinds of figures. Analyse chooses by the truth.
const (
	AUC   = "AUC"                 // the truth is 0 or 1: empirical, the readers' numbers rank the cases
	Error = "mean absolute error" // the truth is another number
	Mean  = "mean"                // there is no truth
)

// Analysis is a figure of several readers.
type Analysis struct {
	Figure     string     `json:"figure"` // the column
	Kind       string     `json:"kind"`   // AUC, mean absolute error or mean
	Modalities []string   `json:"modalities"`
	Images     int        `json:"images"` // that all readers have judged in all modalities
	Of         int        `json:"of"`     // that some reader has judged, of those with a truth
	Patients   int        `json:"patients"`
	Positives  *int       `json:"positives,omitempty"` // images with the truth 1
	Readers    []Reader   `json:"readers"`
	Means      []Views    `json:"means"` // over the readers, by modality
	Difference *Views     `json:"difference,omitempty"`
	Components Components `json:"components"`
	Notes      Notes      `json:"notes"`
}

// Reader is the figure of one reader, with intervals for other cases.
type Reader struct {
	Name       string `json:"name"`
	Figures    []Test `json:"figures"` // by modality
	Difference *Test  `json:"difference,omitempty"`
}

// Analyse compares the readers by a column of the readings, over the cases that all have judged in
// all modalities. Second readings do not count. truth may be nil. An error says what is missing.
func Analyse(t, truth *Table, figure string) (*Analysis, error) {
	a := &Analysis{Figure: figure, Kind: Mean, Modalities: t.Modalities}
	if !slices.Contains(t.cells.Columns, figure) {
		return nil, fmt.Errorf("%s: the readings have no such column", figure)
	}
	values, true1 := t.values(figure, false), map[mark]float64(nil)
	if truth != nil {
		a.Kind, true1 = AUC, truth.values(figure, false)
		for _, v := range true1 {
			if v != 0 && v != 1 {
				a.Kind = Error
			}
		}
		a.leaveOut(values, true1)
	}
	judged := statistics.Filter(t.Cases, func(of string) bool {
		return slices.ContainsFunc(t.Readers, func(reader string) bool {
			return slices.ContainsFunc(t.Modalities, func(m string) bool { _, is := values[mark{m, reader, of}]; return is })
		})
	})
	readers, images := t.common(values, t.Modalities)
	for _, reader := range t.Readers {
		for _, m := range t.Modalities {
			if n := number(values, m, reader); !slices.Contains(readers, reader) {
				a.Notes.add(fmt.Sprintf("%s (%d %s)", reader, n, m), "%s: readers without a figure in some modality, left out (images in each)", figure)
			}
		}
	}
	a.Images, a.Of = len(images), len(judged)
	units, patients := t.units(images)
	a.Patients = patients
	y := statistics.Tabulate(len(images), func(i int) float64 { return true1[mark{of: images[i]}] })
	if err := a.enough(t, values, readers, y, units); err != nil {
		return nil, err
	}
	var d jackknifed
	for _, m := range t.Modalities {
		var figures []float64
		var without [][]float64
		for _, reader := range readers {
			x := statistics.Tabulate(len(images), func(i int) float64 { return values[mark{m, reader, images[i]}] })
			whole, less := a.jackknife(x, y, units)
			figures, without = append(figures, whole), append(without, less)
		}
		d.figures, d.without = append(d.figures, figures), append(d.without, without)
	}
	a.compute(d, readers)
	return a, nil
}

// leaveOut deletes the values of cases without a truth.
func (a *Analysis) leaveOut(values, truth map[mark]float64) {
	lacking := map[string]bool{}
	for at := range values {
		if _, is := truth[mark{of: at.of}]; !is {
			lacking[at.of] = true
			delete(values, at)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(lacking)) {
		a.Notes.add(of, "%s: cases without a truth, left out", a.Figure)
	}
}

// compute fills in the figures, their means and their difference.
func (a *Analysis) compute(d jackknifed, readers []string) {
	least, most := 0., math.Inf(1)
	if a.Kind == AUC {
		most = 1
	}
	whole, c := d.views(least, most)
	a.Components = c
	for j, name := range readers {
		r := Reader{Name: name}
		for m := range a.Modalities {
			one, _ := d.only(m, j).views(least, most)
			r.Figures = append(r.Figures, *one.FixedReaders)
		}
		if len(a.Modalities) == 2 {
			both, _ := d.only(-1, j).views(least, most)
			r.Difference = both.FixedReaders
		}
		a.Readers = append(a.Readers, r)
	}
	for m := range a.Modalities {
		mean, _ := d.only(m, -1).views(least, most)
		a.Means = append(a.Means, mean)
	}
	if len(a.Modalities) == 2 {
		a.Difference = &whole
	}
}

// enough returns an error if the cases are too few. It names how many each reader has.
func (a *Analysis) enough(t *Table, values map[mark]float64, readers []string, y []float64, units []statistics.Unit) error {
	patients := [2]map[statistics.Unit]bool{{}, {}}
	positives := 0
	for i, v := range y {
		if a.Kind == AUC {
			patients[int(v)][units[i]] = true
			positives += int(v)
		}
	}
	few := len(y) < 4 || a.Patients < 2
	lacks := fmt.Sprintf("%d images of %d patients; it takes 4 images of 2 patients", len(y), a.Patients)
	if a.Kind == AUC {
		a.Positives = &positives
		few = few || len(patients[0]) < 2 || len(patients[1]) < 2
		lacks = fmt.Sprintf("%d images with the truth 1, of %d patients, and %d with 0, of %d; it takes 2 patients of each, and 4 images", positives, len(patients[1]), len(y)-positives, len(patients[0]))
	}
	if !few && len(readers) > 0 {
		return nil
	}
	var has []string
	for _, reader := range t.Readers {
		for _, m := range t.Modalities {
			has = append(has, strings.TrimSpace(fmt.Sprintf("%s %d %s", reader, number(values, m, reader), m)))
		}
	}
	return fmt.Errorf("%s: all readers together have judged %s. Images with a truth that each has judged: %s", a.Figure, lacks, strings.Join(has, ", "))
}

// jackknife is the figure of a reader, and its values without each patient.
func (a *Analysis) jackknife(x, y []float64, units []statistics.Unit) (whole float64, without []float64) {
	var all share
	less := make([]share, a.Patients)
	if a.Kind != AUC {
		for i, v := range x {
			if a.Kind == Error {
				v = math.Abs(v - y[i])
			}
			all.add(v)
			less[units[i]-1].add(v)
		}
	}
	// The area is the share of pairs of a positive and a negative in which the positive ranks higher.
	// A patient takes away the pairs of which an image is the patient's.
	for i, positive := range y {
		for k, other := range y {
			if a.Kind != AUC || positive != 1 || other != 0 {
				continue
			}
			higher := map[bool]float64{true: 1}[x[i] > x[k]]
			if x[i] == x[k] {
				higher = .5
			}
			all.add(higher)
			less[units[i]-1].add(higher)
			if units[i] != units[k] {
				less[units[k]-1].add(higher)
			}
		}
	}
	for _, l := range less {
		without = append(without, (all.sum-l.sum)/(all.n-l.n))
	}
	return all.sum / all.n, without
}

// share is a sum of so many numbers.
type share struct{ sum, n float64 }

func (s *share) add(v float64) { s.sum, s.n = s.sum+v, s.n+1 }

// number is how many values a reader has in a modality.
func number(values map[mark]float64, modality, reader string) (n int) {
	for at := range values {
		if at.modality == modality && at.reader == reader {
			n++
		}
	}
	return n
}

// mean is that of the readers' figures in a modality.
func (a *Analysis) mean(m int) float64 {
	return metric.Mean(statistics.Tabulate(len(a.Readers), func(j int) float64 { return a.Readers[j].Figures[m].Mean }))
}
