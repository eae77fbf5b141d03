// Package report writes the figures of a study for people and for programs.
package report

import (
	"fmt"
	"math"
	"strings"

	"mrprism/internal/data/metric"
)

// Equals puts an equals sign before a number without a sign.
func Equals(p string) string {
	if strings.HasPrefix(p, "<") {
		return p
	}
	return "= " + p
}

// Scaled writes a number times a scale; a dash for nil.
func Scaled(form string, v *float64, scale float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(form, scale**v)
}

// OfGroups says of how many groups the images are, if not each of its own.
func OfGroups(images, groups int) string {
	if groups == images {
		return ""
	}
	return fmt.Sprintf(" of %d groups (groups.csv), each of which counts once", groups)
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
