package main

import (
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/metric"
)

const (
	resamples = 2000 // of the bootstrap
	seed      = 1    // equal scores give equal intervals
)

// interval is the mean of the values with its bootstrap interval; nil without values.
func interval(values []float64) *metric.Interval {
	if len(values) == 0 {
		return nil
	}
	return new(metric.Bootstrap(values, resamples, seed))
}

// figures are the values of a figure over items, without those that are NaN.
func figures[T any](items []T, figure func(T) float64) (values []float64) {
	for _, item := range items {
		if v := figure(item); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// over is the interval of a figure over items. NaN does not count.
func over[T any](items []T, figure func(T) float64) *metric.Interval {
	return interval(figures(items, figure))
}

// tested is over, and the p-value of Wilcoxon's signed-rank test of the figure.
func tested[T any](items []T, figure func(T) float64) (*metric.Interval, *float64) {
	values := figures(items, figure)
	return interval(values), defined(metric.Wilcoxon(values))
}

// each are the n results of a function of 0 … n-1.
func each[T any](n int, of func(i int) T) (all []T) {
	for i := range n {
		all = append(all, of(i))
	}
	return all
}

// known are the results of a function of items, without those that are nil.
func known[T, U any](items []T, of func(T) *U) (all []*U) {
	for _, item := range items {
		if v := of(item); v != nil {
			all = append(all, v)
		}
	}
	return all
}

// filter are the items that satisfy a condition.
func filter[T any](items []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !keep(item) })
}

// defined is nil for NaN, as JSON has no NaN.
func defined(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// number is NaN for nil.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// part is a number of pictures and their share of all pictures.
type part struct {
	Images int     `json:"images"`
	Share  float64 `json:"share"` // 0..1
}

// String writes the number and the share in percent.
func (p part) String() string { return fmt.Sprintf("%d (%.1f %%)", p.Images, 100*p.Share) }

// count is the part of the pictures that satisfy a condition.
func count[T any](pictures []T, condition func(T) bool) (p part) {
	p.Images = len(filter(pictures, condition))
	if len(pictures) > 0 {
		p.Share = float64(p.Images) / float64(len(pictures))
	}
	return p
}
