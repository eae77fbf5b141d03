package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mrprism/internal/command/journal"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
)

// describe describes the result in a line.
func (b *batch) describe(it journal.Item, r *segment.Result) string {
	var parts []string
	for _, s := range r.Measurements.Structures {
		low, high := s.Experts()
		switch {
		case high == 0:
			parts = append(parts, fmt.Sprintf("no %s found", s.Class))
		case s.Area == 0:
			parts = append(parts, fmt.Sprintf("no %s found (experts %d–%d px)", s.Class, low, high))
		default:
			parts = append(parts, fmt.Sprintf("%s %d px%s", s.Class, s.Area, ranges(s.Low, s.High, s.Interval, 0)))
		}
	}
	if v := r.Measurements.VerticalRatio; v != nil && v.Value != nil {
		parts = append(parts, fmt.Sprintf("vertical %s/%s %.2f%s", v.Inner, v.Outer, *v.Value, ranges(v.Low, v.High, v.Interval, 2)))
	}
	parts = append(parts, clinical(r.Measurements.Clinical)...)
	line := []string{strings.Join(parts, ", "), "trust: " + trustIn(r)}
	if v := r.Measurements.VerticalRatio; v != nil && v.Certified != nil {
		line = append(line, fmt.Sprintf("ratio certified on %s, %s, %d eyes", v.Certified.Camera, v.Certified.Date, v.Certified.Eyes))
		if drift := strings.TrimSuffix(v.Certified.Drift, "."); drift != "" && v.Certified.Drift != v.Trust.Reason {
			line = append(line, drift)
		}
	}
	if p := r.Picture; p.Slices > 1 && b.Slice == journal.All {
		line = slices.Insert(line, 0, fmt.Sprintf("slice %d of %d", p.Slice, p.Slices))
	} else if p.Slices > 1 {
		name := cmp.Or(map[string]string{"tiff": "page", "dicom": "frame"}[p.Format], "slice")
		line = slices.Insert(line, 0, fmt.Sprintf("%s %d of %d", name, p.Slice, p.Slices))
	}
	for _, s := range r.Measurements.Structures {
		if s.Others > 0 {
			line = append(line, fmt.Sprintf("the model marks one %s, and %d more seem to be in the picture", s.Class, s.Others))
		}
	}
	line = append(line, withheld(&r.Measurements)...)
	if without := segment.Headless(&b.Session.Model.Metadata); without != "" {
		line = append(line, without)
	}
	if len(it.Marks) > 0 {
		var who []string
		for _, m := range it.Marks {
			who = append(who, m.Rater)
		}
		slices.Sort(who)
		line = append(line, "around marks of "+strings.Join(slices.Compact(who), ", "))
	}
	for _, d := range r.Doubts {
		if r.Found || d.Code != trust.NotFound { // "no disc found" says that
			line = append(line, "DOUBTED: "+strings.TrimSuffix(d.Text, "."))
		}
	}
	if q := r.Quality; q != nil {
		for _, f := range q.Faults {
			line = append(line, "HARD TO GRADE: "+strings.TrimSuffix(f.Text, "."))
		}
	}
	line = append(line, fmt.Sprintf("%.1f s on %s", r.Timings["total"]/1000, r.Adapter), it.Entry)
	return it.Image + ": " + strings.Join(line, "; ")
}

// trustIn says how far to trust each structure and the ratio, with reasons that are no doubts.
func trustIn(r *segment.Result) string {
	var words, reasons []string
	add := func(name string, v *trust.Verdict) {
		words = append(words, name+" "+v.Word)
		told := slices.ContainsFunc(r.Doubts, func(d segment.Doubt) bool { return d.Text == v.Reason })
		if reason := strings.TrimSuffix(v.Reason, "."); reason != "" && !told && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	for _, s := range r.Measurements.Structures {
		add(s.Class, s.Trust)
	}
	if v := r.Measurements.VerticalRatio; v != nil {
		add("ratio", v.Trust)
	}
	text := strings.Join(words, ", ")
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ". ") + ")"
	}
	return text
}

// withheld says which figures have no interval, and why.
func withheld(m *segment.Measurements) (parts []string) {
	var reasons []string
	figures := map[string][]string{} // by reason
	add := func(name, reason string) {
		if figures[reason] == nil {
			reasons = append(reasons, reason)
		}
		figures[reason] = append(figures[reason], name)
	}
	for _, s := range m.Structures {
		add(s.Class, s.Withheld)
	}
	if v := m.VerticalRatio; v != nil {
		add("ratio", v.Withheld)
	}
	for _, reason := range reasons {
		if reason != "" {
			parts = append(parts, fmt.Sprintf("no interval of %s: %s", strings.Join(figures[reason], ", "), strings.TrimSuffix(reason, ".")))
		}
	}
	return parts
}

// clinical are the figures that the line has beside the ratio.
func clinical(m segment.Clinical) (parts []string) {
	if n := m.NarrowestRim; n != nil {
		parts = append(parts, fmt.Sprintf("narrowest rim/disc %.2f at %d o'clock%s", n.Value, n.Hour, ranges(n.Low, n.High, nil, 2)))
	}
	if m.Eye != nil && m.Eye.Side != "" {
		parts = append(parts, fmt.Sprintf("%s eye (by %s%s)", m.Eye.Side, m.Eye.By, strings.Join(append([]string{""}, m.Eye.Against...), ", not by ")))
	}
	return parts
}

// ranges are the experts' range and the interval in brackets, those that are there.
func ranges[N int | float64](low, high *N, i *segment.Interval, decimals int) string {
	var parts []string
	if low != nil {
		parts = append(parts, fmt.Sprintf("experts %.*f–%.*f", decimals, float64(*low), decimals, float64(*high)))
	}
	if i != nil {
		parts = append(parts, fmt.Sprintf("%.0f %% %.*f–%.*f", 100*i.Coverage, decimals, i.Low, decimals, i.High))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
