package main

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/dataset"
	"mrprism/internal/metric"
	"mrprism/internal/segment"
)

// ratioScore is one image's vertical cup-to-disc ratio.
type ratioScore struct {
	Reference float64 `json:"reference"` // of the majority's masks
	Predicted float64 `json:"predicted"`
	Interval  *held   `json:"interval,omitempty"`
	Raters    *held   `json:"ratersRange,omitempty"` // of the mask's ratio and the raters' or levels'
}

type ratioReport struct {
	Images    int             `json:"images"`
	Error     metric.Interval `json:"absoluteError"`
	Bias      metric.Interval `json:"bias"`                // predicted less reference
	Slope     *float64        `json:"slope,omitempty"`     // of predicted by reference: well below 1 where sizes are guessed toward the middle
	Intercept *float64        `json:"intercept,omitempty"` // both absent where all references are equal
	Smallest  smallestReport  `json:"smallestQuarter"`
}

// smallestReport is of the quarter of the images, rounded up, whose references are smallest.
type smallestReport struct {
	Images    int             `json:"images"`
	Reference float64         `json:"reference"` // mean
	Bias      metric.Interval `json:"bias"`      // predicted less reference
}

// ratio compares the vertical cup-to-disc ratio with that of the majority's masks; nil where there are no such structures or marks. A disc or cup that
// was not found counts as a ratio of 0: the error that it is.
func (s *scorer) ratio(l *dataset.Loaded, m maps) *ratioScore {
	disc, cup := segment.DiscAndCup(s.data.Classes)
	if disc < 0 || cup < 0 {
		return nil
	}
	outer, marked := l.Votes(disc)
	inner, both := l.Votes(cup)
	if !marked || !both || metric.Area(outer.Mean()) == 0 {
		return nil
	}
	last := m.recurrences[len(m.recurrences)-1]
	w, h := l.Image.W, l.Image.H
	out := &ratioScore{Reference: metric.VerticalRatio(outer.Mean(), inner.Mean(), w, h), Predicted: metric.VerticalRatio(last[disc], last[cup], w, h)}
	if measured := m.measured.VerticalRatio; measured != nil {
		out.Interval, out.Raters = promised(measured.Interval, out.Reference), ranged(measured, out.Reference)
	}
	return out
}

// ratios gathers those of all cases; nil where there are none.
func ratios(cases []*caseScore) *ratioReport {
	var scores []ratioScore
	for _, c := range cases {
		if c.Ratio != nil {
			scores = append(scores, *c.Ratio)
		}
	}
	if len(scores) == 0 {
		return nil
	}
	slices.SortStableFunc(scores, func(a, b ratioScore) int { return cmp.Compare(a.Reference, b.Reference) })
	var errors, biases, references, predicted []float64
	for _, v := range scores {
		biases = append(biases, v.Predicted-v.Reference)
		errors = append(errors, math.Abs(v.Predicted-v.Reference))
		references, predicted = append(references, v.Reference), append(predicted, v.Predicted)
	}
	quarter := (len(scores) + 3) / 4
	out := &ratioReport{
		Images: len(scores), Error: *interval(errors), Bias: *interval(biases),
		Smallest: smallestReport{quarter, metric.Mean(references[:quarter]), *interval(biases[:quarter])},
	}
	if slope, intercept := metric.Line(references, predicted); !math.IsNaN(slope) {
		out.Slope, out.Intercept = &slope, &intercept
	}
	return out
}

// ratio prints them.
func (t *table) ratio(v *ratioReport) {
	t.title("Vertical cup/disc ratio against the majority's, %d images", v.Images)
	t.line("absolute error\t%s", plain(v.Error, 1, 3))
	t.line("bias\t%s", signed(v.Bias, 1, 3))
	if v.Slope != nil {
		t.line("predicted by true, least squares\tslope %.2f, intercept %+.3f", *v.Slope, *v.Intercept)
	}
	t.line("bias of the smallest quarter (%d, true mean %.2f)\t%s", v.Smallest.Images, v.Smallest.Reference, signed(v.Smallest.Bias, 1, 3))
}
