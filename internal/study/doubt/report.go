package doubt

import (
	"fmt"
	"math"

	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/weights"
)

// Report says what folds taught of a model's errors, and what they could not teach.
type Report struct {
	Runs       int      `json:"runs"`   // the folds
	Groups     int      `json:"groups"` // such as patients, with a right result of some image
	Enough     int      `json:"enough"` // of these, to doubt; fewer: the model knows nothing of its errors
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
	r := &Report{Runs: len(l.Folds), Enough: trust.Enough, Doubts: known != nil, Calibrated: []string{}}
	right := map[int]bool{}
	for _, one := range l.references[:len(l.Cases)] {
		if one.Figures != nil && !one.Wrong {
			right[one.Unit] = true
		}
	}
	if r.Groups = len(right); known == nil {
		known = &weights.Trust{}
	}
	add := func(what, class string, has bool, all []trust.Residual) {
		units := map[int]bool{}
		for _, one := range all {
			units[one.Unit] = true
		}
		r.Figures = append(r.Figures, Figure{what, class, len(units), trust.Fewest(Coverage), has, trust.Coverage(all, Coverage)})
	}
	if disc, cup := segment.DiscAndCup(m.Metadata.Classes); disc >= 0 && cup >= 0 {
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
