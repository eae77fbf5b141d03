package readers

import (
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
)

// Agreement is how far numbers of the same images agree, patient by patient.
type Agreement struct {
	Figure string           `json:"figure"`
	Of     string           `json:"of"` // readers, modalities (with less without) or readings (second less first)
	By     string           `json:"by"` // the modality or the reader of all of these
	Images int              `json:"images"`
	ICC    *metric.Interval `json:"icc"` // ICC(2,1); null if it is not defined
	Bias   *metric.Interval `json:"bias,omitempty"`
	Limits []float64        `json:"limitsOfAgreement,omitempty"` // of Bland and Altman
}

// agreement is that of all readers, of each reader's modalities, and of his two readings.
func (t *Table) agreement(column string) (all []Agreement) {
	first, second := t.values(column, false), t.values(column, true)
	add := func(of, by string, columns ...[]float64) {
		images := statistics.Filter(statistics.Tabulate(len(t.Cases), func(i int) int { return i }), func(i int) bool {
			return !slices.ContainsFunc(columns, func(x []float64) bool { return math.IsNaN(x[i]) })
		})
		units, n := t.units(images)
		a, rows, differences := Agreement{Figure: column, Of: of, By: by, Images: len(images)}, [][]float64(nil), make([][]float64, n)
		for k, i := range images {
			row := statistics.Tabulate(len(columns), func(j int) float64 { return columns[j][i] })
			rows, differences[units[k]-1] = append(rows, row), append(differences[units[k]-1], row[len(row)-1]-row[0])
		}
		if icc := metric.ICC(rows, n); !math.IsNaN(icc.Mean) {
			a.ICC = &icc
		}
		if bias, limits := metric.BlandAltman(differences); of != "readers" {
			a.Bias, a.Limits = &bias, limits
		}
		if len(rows) > 0 && len(columns) > 1 {
			all = append(all, a)
		}
	}
	for m, modality := range t.Modalities {
		has := statistics.Filter(first[m], func(x []float64) bool { return count(x) > 0 })
		add("readers", modality, has...)
	}
	for j, reader := range t.Readers {
		if len(first) == 2 {
			add("modalities", reader, first[0][j], first[1][j])
		}
		for m, modality := range t.Modalities {
			add("readings", join(reader, modality), first[m][j], second[m][j])
		}
	}
	return all
}

// Count is how often and how long a reader read; of all readers the name is empty.
type Count struct {
	Reader   string   `json:"reader"`
	Modality string   `json:"modality"`
	Readings int      `json:"readings"` // first ones, as all that follows but Again
	Again    int      `json:"again"`
	Rejected int      `json:"rejected"`
	Unread   int      `json:"unread"` // without a decision
	Timed    int      `json:"timed"`
	Mean     *float64 `json:"meanSeconds"`
	Median   *float64 `json:"medianSeconds"`
}

func (t *Table) counts() (all []Count) {
	times := t.values(seconds, false)
	for j, reader := range append(slices.Clone(t.Readers), "") {
		for m, modality := range t.Modalities {
			c, timed := Count{Reader: reader, Modality: modality}, slices.Concat(times[m]...)
			if reader != "" {
				timed = times[m][j]
			}
			for _, r := range t.rows {
				switch decision := t.text(r.line, "decision"); {
				case r.modality != modality || reader != "" && reader != r.reader:
					continue
				case r.again:
					c.Again++
					continue
				case decision == "rejected":
					c.Rejected++
				case decision == "" && slices.Contains(t.cells.Columns, "decision"):
					c.Unread++
				}
				c.Readings++
			}
			timed = statistics.Values(timed, func(v float64) float64 { return v })
			c.Timed, c.Mean, c.Median = len(timed), statistics.Defined(metric.Mean(timed)), statistics.Defined(metric.Median(timed))
			all = append(all, c)
		}
	}
	return all
}
