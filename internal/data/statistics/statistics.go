// Package statistics makes means, intervals and shares of the rows of a study.
package statistics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/metric"
)

const (
	Resamples = 2000 // of the bootstrap
	Seed      = 1    // equal scores give equal intervals
)

// Interval is the mean of the values with its bootstrap interval; nil without values.
func Interval(values []float64) *metric.Interval {
	if len(values) == 0 {
		return nil
	}
	return new(metric.Bootstrap(values, Resamples, Seed))
}

// Values are the values of a figure over items, without those that are NaN.
func Values[T any](items []T, figure func(T) float64) (values []float64) {
	for _, item := range items {
		if v := figure(item); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// Unit numbers the group of images, such as a patient's, to which an item belongs, from 1. Items of
// 0 are alone.
type Unit int

func (u Unit) unit() Unit { return u }

// MeanWithin is MeanOver of a figure that lies between two values.
func MeanWithin[T any](least, most float64, items []T, figure func(T) float64) *metric.Interval {
	mean := MeanOver(items, figure)
	if mean != nil {
		*mean = mean.Within(least, most)
	}
	return mean
}

// MeanOver is the interval of a figure over items. NaN does not count. Items that embed a Unit
// count as the mean of their unit.
func MeanOver[T any](items []T, figure func(T) float64) *metric.Interval {
	values := byUnit(items, figure)
	return Interval(Tabulate(len(values), func(i int) float64 { return metric.Mean(values[i]) }))
}

// BlandAltman is metric.BlandAltman of items' differences without NaN. Items may embed a Unit.
func BlandAltman[T any](items []T, difference func(T) float64) (bias metric.Interval, limits []float64) {
	return metric.BlandAltman(byUnit(items, difference))
}

// Jackknife is a figure of all units with its 95 % interval by Student's t, from its values without
// each of n units (Tukey 1958), and without none: -1. It is nil if the figure is NaN.
func Jackknife(n int, figure func(without int) float64) *metric.Interval {
	all := &metric.Interval{Mean: figure(-1), N: n}
	if math.IsNaN(all.Mean) {
		return nil
	}
	if spread := metric.Deviation(Tabulate(n, figure)) * float64(n-1) / math.Sqrt(float64(n)); spread >= 0 { // of two units or more
		half := spread * metric.StudentQuantile(.975, float64(n-1))
		all.Low, all.High = new(all.Mean-half), new(all.Mean+half)
	}
	return all
}

// Placed is a displacement in an image.
type Placed struct {
	Unit
	metric.Displacement
}

// Displaced is where a rater's masks lie beside those of the others, on average.
type Displaced struct {
	X      *metric.Interval `json:"x"` // to the right, in diameters of a disc of the structure's area
	Y      *metric.Interval `json:"y"` // down
	Pixels [2]float64       `json:"pixels"`
}

// DisplacedOver is the mean over images. NaN does not count.
func DisplacedOver(images []Placed) (d Displaced) {
	of := func(figure func(Placed) float64) *metric.Interval { return MeanOver(images, figure) }
	d.X, d.Y = of(func(p Placed) float64 { return p.X / p.Size }), of(func(p Placed) float64 { return p.Y / p.Size })
	if d.X != nil {
		d.Pixels = [2]float64{of(func(p Placed) float64 { return p.X }).Mean, of(func(p Placed) float64 { return p.Y }).Mean}
	}
	return d
}

// Moved writes the pixels to the right and down.
func (d Displaced) Moved() string {
	text := func(v float64) string { return (&metric.Interval{Mean: v}).Text("%+.*f", 1, 1) }
	return text(d.Pixels[0]) + ", " + text(d.Pixels[1])
}

// Aside says in which directions the rater differs from the others: their interval lies beyond 2 %
// of the diameter, and is one of metric.Fewest images or groups.
func (d Displaced) Aside() (x, y bool) {
	const trivial = 0.02
	far := func(i *metric.Interval) bool {
		return i != nil && i.N >= metric.Fewest && (*i.Low > trivial || *i.High < -trivial)
	}
	return far(d.X), far(d.Y)
}

// byUnit has the values of a figure for each unit, without NaN.
func byUnit[T any](items []T, figure func(T) float64) (values [][]float64) {
	at := map[Unit]int{}
	for _, item := range items {
		v := figure(item)
		if math.IsNaN(v) {
			continue
		}
		place := len(values)
		if member, is := any(item).(interface{ unit() Unit }); is && member.unit() > 0 {
			if first, known := at[member.unit()]; known {
				place = first
			}
			at[member.unit()] = place
		}
		if place == len(values) {
			values = append(values, nil)
		}
		values[place] = append(values[place], v)
	}
	return values
}

// Distinct is the number of different values.
func Distinct[T cmp.Ordered](values []T) int {
	return len(slices.Compact(slices.Sorted(slices.Values(values))))
}

// Tabulate are the n results of a function of 0 … n-1.
func Tabulate[T any](n int, of func(i int) T) (all []T) {
	for i := range n {
		all = append(all, of(i))
	}
	return all
}

// NonNil are the results of a function of items, without those that are nil.
func NonNil[T, U any](items []T, of func(T) *U) (all []*U) {
	for _, item := range items {
		if v := of(item); v != nil {
			all = append(all, v)
		}
	}
	return all
}

// Filter are the items that satisfy a condition.
func Filter[T any](items []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !keep(item) })
}

// Defined is nil for NaN, as JSON has no NaN.
func Defined(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// Number is NaN for nil.
func Number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// Share is a number of pictures and their share of all pictures.
type Share struct {
	Images int     `json:"images"`
	Share  float64 `json:"share"` // 0..1
}

// String writes the number and the share in percent.
func (p Share) String() string { return fmt.Sprintf("%d (%.1f %%)", p.Images, 100*p.Share) }

// ShareOf is the part of the pictures that satisfy a condition.
func ShareOf[T any](pictures []T, condition func(T) bool) (p Share) {
	p.Images = len(Filter(pictures, condition))
	if len(pictures) > 0 {
		p.Share = float64(p.Images) / float64(len(pictures))
	}
	return p
}
