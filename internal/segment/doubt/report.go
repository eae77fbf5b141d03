package doubt

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/trust"
	"mrprism/weights"
)

// Report says what folds taught of a model's errors, and what they could not teach.
type Report struct {
	Runs       int      `json:"runs"`   // the folds
	Groups     int      `json:"groups"` // of the images, such as patients
	Right      int      `json:"right"`  // of these, with a right result
	Enough     int      `json:"enough"` // of right ones; with fewer the model knows nothing of its errors
	Doubts     bool     `json:"doubts"` // the model says when to doubt a result
	Calibrated []string `json:"calibrated"`
	Figures    []Figure `json:"figures"`
}

// Figure is something that people read and that an interval may belong to.
type Figure struct {
	What   string       `json:"what"`            // area, outlines or ratio
	Class  string       `json:"class,omitempty"` // of area and outlines
	Groups int          `json:"groups"`          // with marks of it, and a result
	Fewest int          `json:"fewest"`          // of these, for an interval
	Known  bool         `json:"known"`           // the model has an interval, or outlines
	Held   []trust.Held `json:"held,omitempty"`  // on each fold, by what the others taught; nil: the others are too few
}

// Report says what Learn learned.
func (l *Learner) Report(m *weights.Model, known *weights.Trust) *Report {
	r := &Report{Runs: len(l.Folds), Groups: distinct(l.units), Enough: trust.Enough, Doubts: known != nil, Calibrated: []string{}}
	var right []int
	for _, one := range l.references[:len(l.Cases)] {
		if one.Figures != nil && !one.Wrong {
			right = append(right, one.Unit)
		}
	}
	if r.Right = distinct(right); known == nil {
		known = &weights.Trust{}
	}
	add := func(what, class string, has bool, all []trust.Residual) {
		var units []int
		for _, one := range all {
			units = append(units, one.Unit)
		}
		r.Figures = append(r.Figures, Figure{what, class, distinct(units), trust.Fewest(Coverage), has, trust.Coverage(all, Coverage)})
	}
	if disc, cup := metric.DiscAndCup(m.Metadata.Classes); disc >= 0 && cup >= 0 {
		add("ratio", "", known.Ratio != nil, l.ratios)
	}
	for k, class := range m.Metadata.Classes {
		if _, ok := known.Maps[class]; ok {
			r.Calibrated = append(r.Calibrated, class)
		}
		_, area := known.Areas[class]
		_, outlines := known.Outlines[class]
		add("area", class, area, l.areas[k])
		add("outlines", class, outlines, l.outlines[k])
	}
	return r
}

// distinct is the number of different units.
func distinct(units []int) int { return len(slices.Compact(slices.Sorted(slices.Values(units)))) }

func (f Figure) String() string {
	if f.What == "ratio" {
		return "vertical ratio"
	}
	return fmt.Sprintf("%s of the %s", f.What, f.Class)
}

// Fared says, for each data set, how often intervals and outlines held, and how wide they were.
func (f Figure) Fared() (lines []string) {
	for _, h := range f.Held {
		width := fmt.Sprintf("%.2f wide", h.Width)
		switch f.What {
		case "area":
			width = fmt.Sprintf("from 1 to %.2f times", math.Exp(h.Width))
		case "outlines":
			width = fmt.Sprintf("%.2f radii to each side", h.Width/2)
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %.0f %% of %d patients, %s", f, h.Camera, 100*h.Share, h.Units, width))
	}
	return lines
}

// Text is the report in Markdown.
func (r *Report) Text() string {
	if !r.Doubts {
		many := fmt.Sprintf("There are %d", r.Groups)
		if r.Groups >= r.Enough {
			many = fmt.Sprintf("Of %d it was right in %d", r.Groups, r.Right)
		}
		return fmt.Sprintf("It has no doubt, no calibration and no intervals. These take right results on images of %d groups, such as patients. %s.", r.Enough, many)
	}
	by := "Each was made by the run that had set the image aside."
	if r.Runs < trust.FoldsToDoubtBy {
		by = fmt.Sprintf("It has learned from these; %d runs or more would tell of images that it has not.", trust.FoldsToDoubtBy)
	}
	text := fmt.Sprintf("It doubts results that are unlike the right ones on images of %d groups, such as patients. %s\n\n", r.Right, by)
	if len(r.Calibrated) > 0 {
		text += fmt.Sprintf("Calibrated: %s. ", strings.Join(r.Calibrated, ", "))
	} else {
		text += "Not calibrated: no map made probabilities better on images that had not taught it. "
	}
	text += fmt.Sprintf("Intervals of %.0f %%, and how many figures of each fold they held by what the other folds taught:\n", 100*Coverage)
	for _, f := range r.Figures {
		switch fared := f.Fared(); {
		case f.Known && len(fared) > 0:
			text += "\n- " + strings.Join(fared, "\n- ")
		case f.Known:
			text += fmt.Sprintf("\n- %s: nobody knows; without one fold there are too few of the %d groups", f, f.Groups)
		case f.Groups < f.Fewest:
			text += fmt.Sprintf("\n- %s: none; it takes %d groups with marks and a result, and there are %d", f, f.Fewest, f.Groups)
		default:
			text += fmt.Sprintf("\n- %s: none; in too many groups marks lie farther away than any interval reaches", f)
		}
	}
	return text
}
