package main

import (
	"fmt"

	"mrprism/internal/metric"
	"mrprism/internal/segment"
)

// held is an interval of one image beside the majority's figure.
type held struct {
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Promised  *float64 `json:"promised,omitempty"` // share of images, 0..1, in which it should hold the figure; absent where nothing is promised
	Reference float64  `json:"reference"`          // the majority's figure
}

// holds reports whether the figure lies inside.
func (h *held) holds() bool { return h.Low <= h.Reference && h.Reference <= h.High }

// promised is a result's interval beside the majority's figure; nil where the result has none.
func promised(i *segment.Interval, reference float64) *held {
	if i == nil {
		return nil
	}
	return &held{i.Low, i.High, &i.Coverage, reference}
}

// ranged is the range of the mask's and the raters' figures beside the majority's; nil where the
// result has none.
func ranged(r *segment.Ratio, reference float64) *held {
	if r == nil || r.Low == nil || r.High == nil {
		return nil
	}
	return &held{Low: *r.Low, High: *r.High, Reference: reference}
}

// coverageReport is how often intervals hold the majority's figure.
type coverageReport struct {
	Images   int      `json:"images"`   // that have both
	Without  int      `json:"without"`  // images with the majority's figure, and no interval
	Inside   int      `json:"inside"`   // whose figure lies in the interval
	Share    *float64 `json:"share"`    // null without images; so are all below
	Low      *float64 `json:"low"`      // Wilson's 95 % interval of the share
	High     *float64 `json:"high"`     //
	Promised *float64 `json:"promised"` // null too where nothing is promised
	Width    *float64 `json:"width"`    // median
}

// coverage gathers intervals, nil where an image has none. Widths are in units of each image's
// figure where relative; an image whose figure is 0 has no such width.
func coverage(intervals []*held, relative bool) *coverageReport {
	var out coverageReport
	var widths []float64
	for _, h := range intervals {
		if h == nil {
			out.Without++
			continue
		}
		out.Images++
		if h.holds() {
			out.Inside++
		}
		out.Promised = h.Promised // all are from the same weights
		switch {
		case !relative:
			widths = append(widths, h.High-h.Low)
		case h.Reference > 0:
			widths = append(widths, (h.High-h.Low)/h.Reference)
		}
	}
	if len(intervals) == 0 {
		return nil
	}
	if out.Images > 0 {
		low, high := metric.Wilson(out.Inside, out.Images)
		out.Share, out.Low, out.High = new(float64(out.Inside)/float64(out.Images)), &low, &high
	}
	out.Width = defined(metric.Median(widths))
	return &out
}

// coverages are of the areas, by class, and of the vertical ratio.
type coveragesReport struct {
	Areas  []*coverageReport `json:"areas"` // by class; null where nobody has marked it
	Ratio  *coverageReport   `json:"verticalRatio,omitempty"`
	Raters *coverageReport   `json:"verticalRatioOfRaters,omitempty"` // the range of the mask's ratio and the raters' or levels'
}

// coverages gathers those of all cases; nil without cases.
func (s *scorer) coverages() *coveragesReport {
	if len(s.cases) == 0 {
		return nil
	}
	var out coveragesReport
	for k := range s.data.Classes {
		var areas []*held
		for _, c := range s.cases {
			if c.Classes[k] != nil {
				areas = append(areas, c.Classes[k].Interval)
			}
		}
		out.Areas = append(out.Areas, coverage(areas, true))
	}
	var ratio, raters []*held
	for _, c := range s.cases {
		if c.Ratio != nil {
			ratio, raters = append(ratio, c.Ratio.Interval), append(raters, c.Ratio.Raters)
		}
	}
	out.Ratio, out.Raters = coverage(ratio, false), coverage(raters, false)
	return &out
}

func (t *table) coverages(r *report) {
	t.title("Intervals: how often they hold the majority's figure")
	t.line("\timages\twithout one\tinside\tpromised\tmedian width")
	for k, c := range r.Intervals.Areas {
		t.coverage("area of the "+r.Classes[k].Class, c, 100, " % of the area")
	}
	t.coverage("vertical cup/disc ratio", r.Intervals.Ratio, 1, "")
	t.coverage("  the mask's and the heads' range", r.Intervals.Raters, 1, "")
}

// coverage prints a row; nothing where there is no figure to hold.
func (t *table) coverage(name string, c *coverageReport, scale float64, unit string) {
	if c == nil {
		return
	}
	inside, width, wanted := "–", "–", "–"
	if c.Share != nil {
		inside = plain(metric.Interval{Mean: *c.Share, Low: c.Low, High: c.High}, 100, 1) + " %"
	}
	if c.Promised != nil {
		wanted = fmt.Sprintf("%.0f %%", 100**c.Promised)
	}
	if c.Width != nil {
		width = fmt.Sprintf("%.*f%s", map[bool]int{true: 3, false: 1}[unit == ""], scale**c.Width, unit)
	}
	t.line("%s\t%d\t%d\t%s\t%s\t%s", name, c.Images, c.Without, inside, wanted, width)
}
