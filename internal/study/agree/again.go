package agree

import (
	"io"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
)

// rereading is a rater's two readings of an image beside each other.
type rereading struct {
	statistics.Unit
	figure, rater string
	dice          float64    // NaN for the vertical ratio
	values        [2]float64 // shares of the image, or the ratios
}

// verticalRatio is the figure that no structure has.
const verticalRatio = "vertical_ratio"

// againReport is how far a rater agrees with the own second readings.
type againReport struct {
	Figure            string           `json:"figure"` // a structure, or vertical_ratio
	Rater             string           `json:"rater"`
	correlationReport                  // of areas or ratios in images that the rater marked twice
	Dice              *metric.Interval `json:"dice,omitempty"`
	Error             *metric.Interval `json:"standardErrorOfMeasurement"` // of one reading, in the unit of the figure
	Bias              *metric.Interval `json:"bias,omitempty"`             // of ratios: the second less the first
	Limits            []float64        `json:"limitsOfAgreement,omitempty"`
	Within            *float64         `json:"limitsWithin,omitempty"`
}

// rereadings are those of an image.
func (s *Study) rereadings(marks *dataset.Marks, unit statistics.Unit) (all []*rereading) {
	disc, cup := metric.DiscAndCup(s.data.Classes)
	for a, rater := range s.data.Again {
		rows := [2][][]uint8{marks.Masks[slices.Index(s.data.Raters, rater)], marks.Again[a]}
		for k, class := range s.data.Classes {
			if first, second := rows[0][k], rows[1][k]; first != nil && second != nil {
				share := func(mask []uint8) float64 { return float64(metric.Area(mask)) / float64(marks.W*marks.H) }
				all = append(all, &rereading{unit, class, rater, metric.Dice(first, second), [2]float64{share(first), share(second)}})
			}
		}
		if disc >= 0 && cup >= 0 {
			ratio := func(row [][]uint8) float64 { return ratioOf(row[disc], row[cup], marks.Window) }
			if values := [2]float64{ratio(rows[0]), ratio(rows[1])}; !math.IsNaN(values[0] + values[1]) {
				all = append(all, &rereading{unit, verticalRatio, rater, math.NaN(), values})
			}
		}
	}
	return all
}

// againReports has a row for each figure and rater.
func (s *Study) againReports() (reports []againReport) {
	for _, figure := range append(slices.Clone(s.data.Classes), verticalRatio) {
		for _, rater := range s.data.Again {
			all := statistics.Filter(s.again, func(r *rereading) bool { return r.figure == figure && r.rater == rater })
			if len(all) == 0 {
				continue
			}
			r := againReport{Figure: figure, Rater: rater, Dice: statistics.MeanWithin(0, 1, all, func(r *rereading) float64 { return r.dice })}
			r.correlationReport = *correlation(all, func(r *rereading) ([]float64, statistics.Unit) { return r.values[:], r.Unit })
			r.Error = statistics.MeanWithin(0, math.Inf(1), all, func(r *rereading) float64 { return (r.values[1] - r.values[0]) * (r.values[1] - r.values[0]) / 2 })
			for _, square := range []*float64{&r.Error.Mean, r.Error.Low, r.Error.High} {
				if square != nil {
					*square = math.Sqrt(*square)
				}
			}
			if figure == verticalRatio {
				bias, limits := statistics.BlandAltman(all, func(r *rereading) float64 { return r.values[1] - r.values[0] })
				r.Bias, r.Limits, r.Within = &bias, limits, within(bias, limits)
			}
			reports = append(reports, r)
		}
	}
	return reports
}

func (r *Report) againCSV(w io.Writer) error {
	header := []string{"figure", "rater", "images", "mean_dice", "dice_low", "dice_high", "icc", "icc_low", "icc_high", "sem", "sem_low", "sem_high", "bias", "bias_low", "bias_high", "limit_low", "limit_high", "limit_within"}
	return report.WriteCSV(w, header, func(line func(...any)) {
		for _, a := range r.Again {
			limits := append(a.Limits, math.NaN(), math.NaN())
			line(a.Figure, a.Rater, a.Images, a.Dice, a.ICC, a.Low, a.High, a.Error, a.Bias, limits[0], limits[1], a.Within)
		}
	})
}

// again has a row for each figure and rater.
func (r *Report) again() report.Table {
	t := report.Table{Title: "Second readings beside the same rater's first ones, which alone count elsewhere", Columns: report.Columns("", "rater", "images", "Dice ×100", "ICC", "SEM, % of the image, or ratio", "bias", "limits of agreement, 95 %")}
	for _, a := range r.Again {
		sem := report.Plain(a.Error, 100, 2)
		if a.Figure == verticalRatio {
			sem = report.Plain(a.Error, 1, 3)
		}
		t.Add(a.Figure, a.Rater, a.Images, report.Plain(a.Dice, 100, 1), &a.correlationReport, sem, report.Signed(a.Bias, 1, 3), limitsText(a.Limits, a.Within))
	}
	return t
}
