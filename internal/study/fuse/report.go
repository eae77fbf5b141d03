package fuse

import (
	"io"
	"math"

	"mrprism/internal/data/fusion"
	"mrprism/internal/study/report"
)

// Together stands in the CSVs for all images.
const Together = "all"

// RaterRow is a rater beside a fused map. Figures are NaN where they are not defined.
type RaterRow struct {
	Method, Image, Class, Rater string
	fusion.Rates
	Bias   float64
	Weight float64 // his share in the fusion; NaN if the method weighs no whole marks
	Thrown int     // marks of weight 0
	counts fusion.Counts
}

// rate has a row for each rater who marked the structure.
func (f *Study) rate(method, image, class string, marks [][]uint8, fit *fusion.Fit) (rows []RaterRow) {
	for m, mark := range marks {
		if mark == nil {
			continue
		}
		counts := fusion.Count(mark, fit.Map)
		row := RaterRow{Method: method, Image: image, Class: class, Rater: f.data.Raters[m], Rates: fit.Raters[m], Bias: counts.Bias(), Weight: math.NaN(), counts: counts}
		if fit.Weights != nil {
			if row.Weight = fit.Weights[m]; row.Weight == 0 {
				row.Thrown = 1
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// pooled is a rater over all images: the pixels of all are counted together.
func pooled(method, class, rater string, rows []RaterRow) *RaterRow {
	all := RaterRow{Method: method, Image: Together, Class: class, Rater: rater}
	n := 0
	for _, r := range rows {
		if r.Method != method || r.Class != class || r.Rater != rater {
			continue
		}
		n++
		all.counts.Add(r.counts)
		all.Weight, all.Thrown = all.Weight+r.Weight, all.Thrown+r.Thrown
	}
	if n == 0 {
		return nil
	}
	all.Weight /= float64(n)
	all.Rates, all.Bias = all.counts.Rates(), all.counts.Bias()
	return &all
}

// Save writes raters.csv and further files into the folder: each rater beside each map, and then
// over all images.
func (f *Study) Save(further map[string]func(io.Writer) error) error {
	files := map[string]func(io.Writer) error{"raters.csv": f.ratersCSV}
	for name, write := range further {
		files[name] = write
	}
	return report.Save(f.Out, files)
}

func (f *Study) ratersCSV(w io.Writer) error {
	header := []string{"method", "image", "structure", "rater", "sensitivity", "specificity", "bias", "weight"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		write := func(r *RaterRow) {
			line(r.Method, r.Image, r.Class, r.Rater, r.Sensitivity, r.Specificity, r.Bias, r.Weight)
		}
		for i := range f.raters {
			write(&f.raters[i])
		}
		f.EachPooled(write)
	})
}

// EachPooled calls do for each structure, method and rater with a mark, over all images.
func (f *Study) EachPooled(do func(r *RaterRow)) {
	for _, class := range f.data.Classes {
		for _, method := range f.Methods {
			for _, rater := range f.data.Raters {
				if r := pooled(method.Name, class, rater, f.raters); r != nil {
					do(r)
				}
			}
		}
	}
}
