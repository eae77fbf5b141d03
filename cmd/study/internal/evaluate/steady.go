package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
)

// steadyReport says how far an eye's vertical cup/disc ratio moves under the changes of exposure.
// Figures are standard deviations over the photograph as it is and all such changes under which it
// has a ratio.
type steadyReport struct {
	Eyes  int              `json:"eyes"` // with at least two ratios
	Mean  *metric.Interval `json:"mean"`
	Worst float64          `json:"worst"`
	Eye   string           `json:"worstEye"`
}

// eyeRatios is one photograph, and its ratios under the changes of exposure.
type eyeRatios struct {
	name   string
	ratios []float64
}

// verticalRatio is that of a result; nil without one.
func verticalRatio(r *segment.Result) *float64 {
	if ratio := r.Measurements.VerticalRatio; ratio != nil {
		return ratio.Value
	}
	return nil
}

// steadyRatios is nil if no eye has two ratios.
func steadyRatios(eyes []eyeRatios) *steadyReport {
	eyes = statistics.Filter(eyes, func(e eyeRatios) bool { return len(e.ratios) > 1 })
	if len(eyes) == 0 {
		return nil
	}
	worst := slices.MaxFunc(eyes, func(a, b eyeRatios) int { return cmp.Compare(a.deviation(), b.deviation()) })
	return &steadyReport{len(eyes), statistics.MeanWithin(0, math.Inf(1), eyes, eyeRatios.deviation), worst.deviation(), worst.name}
}

// deviation is the standard deviation of the eye's ratios.
func (e eyeRatios) deviation() float64 { return metric.Deviation(e.ratios) }

// centredEyes are the photographs of -centres.
func (s *study) centredEyes() (eyes []eyeRatios) {
	at := map[[2]string]int{}
	for _, c := range s.centred {
		key := [2]string{c.Set, c.Name}
		if _, known := at[key]; !known {
			at[key], eyes = len(eyes), append(eyes, eyeRatios{name: c.Name + " of " + c.Set})
		}
		if e := &eyes[at[key]]; c.Ratio != nil && c.Turned == 0 && exposed(c.Change) {
			e.ratios = append(e.ratios, *c.Ratio)
		}
	}
	return eyes
}

// exposed says whether a change is one of exposure, or none.
func exposed(name string) bool {
	return name == "" || slices.ContainsFunc(Changes, func(c change) bool { return c.exposure && c.Name == name })
}

// dataEyes are the images of -data.
func (s *study) dataEyes() []eyeRatios {
	return statistics.Tabulate(len(s.scores), func(i int) eyeRatios {
		c := s.scores[i]
		e := eyeRatios{name: c.Name}
		if c.Ratio != nil && c.Found {
			e.ratios = append(e.ratios, c.Ratio.Predicted)
		}
		for _, changed := range c.Changed {
			if changed.Ratio != nil && exposed(changed.Change) {
				e.ratios = append(e.ratios, *changed.Ratio)
			}
		}
		return e
	})
}

// tables have the deviations; none for nil.
func (r *steadyReport) tables() []report.Table {
	if r == nil {
		return nil
	}
	t := report.Table{
		Title:   "Vertical cup/disc ratio of an eye under the changes of gamma, white balance, contrast and exposure",
		Columns: report.Columns("", "standard deviation", "the largest", "of", "eyes"),
	}
	t.Add("vertical cup/disc ratio", report.Plain(r.Mean, 1, 3), fmt.Sprintf("%.3f", r.Worst), r.Eye, r.Eyes)
	return []report.Table{t}
}
