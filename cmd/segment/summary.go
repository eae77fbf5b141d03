package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
)

// summary is STEM.json. Its fields are named as in the page's own JSON.
type summary struct {
	Image        string               `json:"image"`
	Width        int                  `json:"width"`
	Height       int                  `json:"height"`
	Model        string               `json:"model"`
	Weights      origin               `json:"weights"`
	Classes      []string             `json:"classes"`
	Raters       []string             `json:"raters"`
	Labels       string               `json:"labels"`
	Region       imageio.Square       `json:"region"`
	Requested    string               `json:"requested_region"`
	Recurrences  int                  `json:"recurrences"`
	Measurements segment.Measurements `json:"measurements"`
	Device       string               `json:"device"`
	Precision    model.Precision      `json:"precision"`
	Unlike       bool                 `json:"unlike"`
	Times        map[string]float64   `json:"times_ms"`
	Files        files                `json:"files"`
}

// origin says which weights these were.
type origin struct {
	Given  string `json:"given"` // on the command line
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
	Ours   bool   `json:"shipped"`
}

// files are the names of the maps, beside the summary: by class, and by class and rater.
type files struct {
	Probability map[string]string   `json:"probability"`
	Raters      map[string][]string `json:"raters"`
}

func (b *batch) summary(it item, r *segment.Result) summary {
	f := files{map[string]string{}, map[string][]string{}}
	for c, class := range r.Classes {
		f.Probability[class] = filepath.Base(it.masks[c])
		for m := range r.Raters {
			f.Raters[class] = append(f.Raters[class], filepath.Base(it.raters[m][c]))
		}
	}
	return summary{
		Image: it.image, Width: r.Width, Height: r.Height, Model: b.session.Model.Name(),
		Weights: origin{b.weightsName, b.session.Model.Label(), b.session.Model.SHA256, b.session.Model.Shipped},
		Classes: r.Classes, Raters: r.Raters, Labels: r.Labels, Region: r.ROI, Requested: b.options.ROI, Recurrences: r.Recurrences,
		Measurements: r.Measurements, Device: r.Adapter, Precision: r.Precision, Unlike: r.Unlike, Times: r.Timings, Files: f,
	}
}

// describe is the result in a line.
func describe(it item, r *segment.Result) string {
	var parts []string
	for _, s := range r.Measurements.Structures {
		if s.Area == 0 {
			parts = append(parts, fmt.Sprintf("no %s found (%d–%d px)", s.Class, s.Low, s.High))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %d px (%d–%d)", s.Class, s.Area, s.Low, s.High))
	}
	if v := r.Measurements.VerticalRatio; v != nil && v.Value != nil {
		parts = append(parts, fmt.Sprintf("vertical %s/%s %.2f (%.2f–%.2f)", v.Inner, v.Outer, *v.Value, *v.Low, *v.High))
	}
	if r.Unlike {
		parts = append(parts, "BUT its colours are unlike those of the model's training images: check whether this is the right model")
	}
	return fmt.Sprintf("%s: %s; %.1f s on %s; %s", it.image, strings.Join(parts, ", "), r.Timings["total"]/1000, r.Adapter, it.summary)
}
