// Package report writes the figures of a study for people and for programs.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/metric"
	"mrprism/internal/study/statistics"
)

// PValue writes a p-value with two digits.
func PValue(p float64) string {
	if p < 1e-4 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(math.Round(p*1e4)/1e4, 'f', -1, 64)
}

// Equals puts an equals sign before a number without a sign.
func Equals(p string) string {
	if strings.HasPrefix(p, "<") {
		return p
	}
	return "= " + p
}

// Digits writes a number with six digits; nothing for nil.
func Digits(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}

// DigitsOf is a figure with six digits; nothing for NaN.
func DigitsOf(v float64) string { return Digits(statistics.Defined(v)) }

// Percent writes a share in percent; a dash for NaN.
func Percent(form string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(form, 100*v)
}

// shown is the number of items that the table names.
const shown = 10

// IfAny prints a part of the report; nothing for nil.
func IfAny[T any](part *T, print func(*T)) {
	if part != nil {
		print(part)
	}
}

// First prints the first items of a list, and how many more the JSON has.
func First[T any](t *command.Table, indent string, items []T, line func(T)) {
	for _, item := range items[:min(len(items), shown)] {
		line(item)
	}
	if more := len(items) - shown; more > 0 {
		t.Line("%sand %d more, in -json", indent, more)
	}
}

// Plain writes the mean and the interval, scaled; a dash for nil.
func Plain(i *metric.Interval, scale float64, digits int) string {
	return bracketed("%.*f", i, scale, digits)
}

// Signed is plain with a sign before every number.
func Signed(i *metric.Interval, scale float64, digits int) string {
	return bracketed("%+.*f", i, scale, digits)
}

func bracketed(form string, i *metric.Interval, scale float64, digits int) string {
	number := func(v float64) string {
		if v *= scale; math.Abs(v) < 0.5*math.Pow10(-digits) {
			v = 0 // not −0
		}
		return fmt.Sprintf(form, digits, v)
	}
	switch {
	case i == nil:
		return "–"
	case i.Low == nil:
		return number(i.Mean)
	}
	return number(i.Mean) + " [" + number(*i.Low) + ", " + number(*i.High) + "]"
}
