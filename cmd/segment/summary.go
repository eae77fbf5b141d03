package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/model"
)

// summary is STEM.json. Its fields have the names of the page's JSON.
type summary struct {
	Image        string               `json:"image"`
	Width        int                  `json:"width"`
	Height       int                  `json:"height"`
	Slice        int                  `json:"slice,omitempty"`  // the picture of the file, from 1, if it has several
	Slices       int                  `json:"slices,omitempty"` // how many it has
	Model        string               `json:"model"`
	Weights      origin               `json:"weights"`
	Classes      []string             `json:"classes"`
	Raters       []string             `json:"raters"`              // empty, not null, without heads
	NoRaters     string               `json:"no_raters,omitempty"` // why
	Labels       string               `json:"labels"`
	Region       imageio.Square       `json:"region"`
	Requested    string               `json:"requested_region"`
	Recurrences  int                  `json:"recurrences"`
	Evidence     []mark               `json:"evidence,omitempty"`
	Measurements segment.Measurements `json:"measurements"`
	Device       string               `json:"device"`
	Why          string               `json:"device_why,omitempty"` // of auto: "3.1 times as fast as llvmpipe here"
	Precision    model.Precision      `json:"precision"`
	Found        bool                 `json:"found"`
	Doubts       []segment.Doubt      `json:"doubts"` // empty, not null, without doubts
	Doubt        *float64             `json:"doubt"`  // null if the weights cannot tell
	Sharpness    float64              `json:"sharpness"`
	Times        map[string]float64   `json:"times_ms"`
	Files        files                `json:"files"`
}

// origin names the weights.
type origin struct {
	Given  string `json:"given"` // on the command line
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
	Ours   bool   `json:"shipped"`
}

// files are the names of the files in the summary's folder: the PNGs of probabilities by class, by
// class and rater, and with -evidence of the raters who have not marked, by class; and all files.
type files struct {
	Probability map[string]string   `json:"probability,omitempty"`
	Raters      map[string][]string `json:"raters,omitempty"`
	Others      map[string]string   `json:"others,omitempty"`
	All         []saved             `json:"all"`
}

// saved is one file.
type saved struct {
	File      string `json:"file"`
	Format    string `json:"format"`
	By        string `json:"by"`
	Structure string `json:"structure,omitempty"` // of all, if left out
	command.Sum
}

func (b *batch) summary(it item, r *segment.Result, sums map[string]command.Sum) summary {
	f := files{Probability: map[string]string{}, Raters: map[string][]string{}, Others: map[string]string{}}
	for _, out := range it.files {
		sum, written := sums[out.path]
		if !written {
			continue
		}
		name, by := filepath.Base(out.path), b.readers[out.reader]
		one := saved{File: name, Format: out.format.Name, By: by.By, Sum: sum}
		if out.class >= 0 {
			one.Structure = r.Classes[out.class]
		}
		f.All = append(f.All, one)
		switch {
		case out.format.Name != masks.Formats[0].Name, by.Outline:
		case out.reader == 0:
			f.Probability[one.Structure] = name
		case out.reader <= len(r.Raters):
			f.Raters[one.Structure] = append(f.Raters[one.Structure], name)
		default:
			f.Others[one.Structure] = name
		}
	}
	slice, all := pictureOf(r)
	return summary{
		Image: imageio.Valid(it.image), Width: r.Width, Height: r.Height, Slice: slice, Slices: all, Model: b.session.Model.Name(),
		Weights: origin{b.weightsName, b.session.Model.Label(), b.session.Model.SHA256, b.session.Model.Shipped},
		Classes: r.Classes, Raters: r.Raters, NoRaters: segment.Headless(&b.session.Model.Metadata), Labels: r.Labels, Region: r.ROI, Requested: b.options.ROI, Recurrences: r.Recurrences, Evidence: it.marks,
		Measurements: r.Measurements, Device: r.Adapter, Why: r.Why, Precision: r.Precision,
		Found: r.Found, Doubts: append([]segment.Doubt{}, r.Doubts...), Doubt: r.Doubt, Sharpness: r.Sharpness, Times: r.Timings, Files: f,
	}
}

// pictureOf says which picture of its file a result is of, from 1, and how many the file has. Both
// are 0 if it has one.
func pictureOf(r *segment.Result) (slice, slices int) {
	if r.Picture.Slices < 2 {
		return 0, 0
	}
	return r.Picture.Slice, r.Picture.Slices
}

// describe describes the result in a line.
func (b *batch) describe(it item, r *segment.Result) string {
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
	if slice, all := pictureOf(r); all > 0 {
		name := cmp.Or(map[string]string{"tiff": "page", "dicom": "frame"}[r.Picture.Format], "slice")
		line = slices.Insert(line, 0, fmt.Sprintf("%s %d of %d", name, slice, all))
	}
	for _, s := range r.Measurements.Structures {
		if s.Others > 0 {
			line = append(line, fmt.Sprintf("the model marks one %s, and %d more seem to be in the picture", s.Class, s.Others))
		}
	}
	line = append(line, withheld(&r.Measurements)...)
	if without := segment.Headless(&b.session.Model.Metadata); without != "" {
		line = append(line, without)
	}
	if len(it.marks) > 0 {
		var who []string
		for _, m := range it.marks {
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
	line = append(line, fmt.Sprintf("%.1f s on %s", r.Timings["total"]/1000, r.Adapter), it.summary)
	return it.image + ": " + strings.Join(line, "; ")
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
