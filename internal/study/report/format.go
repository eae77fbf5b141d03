// Package report writes the figures of a study for people and for programs.
package report

import (
	"fmt"
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
	return i.Text("%.*f", scale, digits)
}

// Signed is plain with a sign before every number.
func Signed(i *metric.Interval, scale float64, digits int) string {
	return i.Text("%+.*f", scale, digits)
}
