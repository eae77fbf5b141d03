package main

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/app/segment"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// ratioScore is one image's vertical cup-to-disc ratio.
type ratioScore struct {
	Reference float64 `json:"reference"` // of the majority's masks
	Predicted float64 `json:"predicted"`
	Interval  *held   `json:"interval,omitempty"`
	Raters    *held   `json:"ratersRange,omitempty"` // of the ratios of the mask and of the heads
}

func (s ratioScore) bias() float64 { return s.Predicted - s.Reference }

type ratioReport struct {
	Images int              `json:"images"`
	Error  *metric.Interval `json:"absoluteError"`
	Bias   *metric.Interval `json:"bias"` // predicted less reference
	// Slope: of predicted by reference; well below 1 if the model guesses sizes toward the middle
	Slope *float64 `json:"slope,omitempty"`
	// Intercept: absent like Slope if all references are equal
	Intercept *float64       `json:"intercept,omitempty"`
	Smallest  smallestReport `json:"smallestQuarter"`
}

// smallestReport is of the quarter of the images, rounded up, with the smallest references.
type smallestReport struct {
	Images    int              `json:"images"`
	Reference float64          `json:"reference"` // mean
	Bias      *metric.Interval `json:"bias"`      // predicted less reference
}

// ratio compares the vertical cup-to-disc ratio with that of the majority's masks; nil without
// these structures or marks. A disc or cup that was not found counts as a ratio of 0.
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
	last, w, h := m.last(), l.Image.W, l.Image.H
	out := &ratioScore{Reference: metric.VerticalRatio(outer.Mean(), inner.Mean(), w, h), Predicted: metric.VerticalRatio(last[disc], last[cup], w, h)}
	if measured := m.measured.VerticalRatio; measured != nil {
		out.Interval, out.Raters = promised(measured.Interval, out.Reference), ranged(measured, out.Reference)
	}
	return out
}

// ratios gathers the ratios of all cases; nil without any.
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
	references := figures(scores, func(s ratioScore) float64 { return s.Reference })
	slope, intercept := metric.Line(references, figures(scores, func(s ratioScore) float64 { return s.Predicted }))
	quarter := (len(scores) + 3) / 4
	return &ratioReport{
		Images: len(scores), Error: over(scores, func(s ratioScore) float64 { return math.Abs(s.bias()) }), Bias: over(scores, ratioScore.bias),
		Slope: defined(slope), Intercept: defined(intercept),
		Smallest: smallestReport{quarter, metric.Mean(references[:quarter]), over(scores[:quarter], ratioScore.bias)},
	}
}

func (t *table) ratio(v *ratioReport) {
	t.Title("Vertical cup/disc ratio against the majority's, %d images", v.Images)
	t.row("absolute error", v.Error, plain, 1, 3)
	t.row("bias", v.Bias, signed, 1, 3)
	if v.Slope != nil {
		t.Line("predicted by true, least squares\tslope %.2f, intercept %+.3f", *v.Slope, *v.Intercept)
	}
	t.Line("bias of the smallest quarter (%d, true mean %.2f)\t%s", v.Smallest.Images, v.Smallest.Reference, signed(v.Smallest.Bias, 1, 3))
}
