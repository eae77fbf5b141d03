package chart

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"
)

// Line is a curve whose X ascends. The picture has 180 places along x. For the points of one place
// it shows their mean and, with Band, a band from the smallest to the largest. It leaves out values
// that are not finite.
type Line struct {
	Name string // stands at the curve's end, in its colour
	X, Y []float64
	Band bool
	Dots bool // marks every point; for few points
}

// label is a line's name at its end.
type label struct {
	text   string
	colour color.RGBA
	y      float64
}

// spread moves labels apart that would cover one another.
func spread(labels []label, upper, lower float64) []label {
	const apart = 15
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := range labels {
		labels[i].y = max(labels[i].y, upper+float64(i)*apart)
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+apart)
		}
	}
	for i := range slices.Backward(labels) { // and back up, should the last have come too low
		labels[i].y = min(labels[i].y, lower-float64(len(labels)-1-i)*apart)
	}
	return labels
}

// Interval is a range of values.
type Interval struct{ Low, High float64 }

// Share is the place of a value in the interval: 0 at low, 1 at high.
func (s Interval) Share(v float64) float64 { return (v - s.Low) / (s.High - s.Low) }

// Span is the interval of all finite values. If there is only one, it is in the middle of an
// interval of width 1. If there is none, the interval is 0 to 1.
func Span(lines []Line, of func(Line) []float64) Interval {
	s := Interval{math.Inf(1), math.Inf(-1)}
	for _, l := range lines {
		for _, v := range of(l) {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				s = Interval{min(s.Low, v), max(s.High, v)}
			}
		}
	}
	switch {
	case s.Low > s.High:
		return Interval{0, 1}
	case s.Low == s.High:
		return Interval{s.Low - 0.5, s.High + 0.5}
	}
	return s
}

// Ticks are about n round values over the interval.
func Ticks(s Interval, n int) []float64 {
	raw := (s.High - s.Low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, f := range []float64{1, 2, 5} {
		if f*unit >= raw {
			step = f * unit
			break
		}
	}
	var out []float64
	for i := math.Ceil(s.Low/step - 1e-9); i*step <= s.High+1e-9*step; i++ {
		out = append(out, i*step+0) // no −0
	}
	return out
}

// Number formats a tick.
func Number(v float64) string {
	if v != 0 && math.Abs(v) < 1e-4 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}
