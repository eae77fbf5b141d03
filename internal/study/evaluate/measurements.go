package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
)

// ratioScore is one image's vertical cup-to-disc ratio.
type ratioScore struct {
	Reference float64       `json:"reference"` // of the majority's masks
	Experts   float64       `json:"experts"`   // mean of the ratios of the experts, or levels
	Predicted float64       `json:"predicted"`
	Interval  *heldInterval `json:"interval,omitempty"`
	Raters    *heldInterval `json:"ratersRange,omitempty"` // of the ratios of the mask and of the heads
}

func (s *ratioScore) bias() float64 { return s.Predicted - s.Reference }

type ratioReport struct {
	Images int              `json:"images"`
	Error  *metric.Interval `json:"absoluteError"`
	Bias   *metric.Interval `json:"bias"` // predicted less reference
	// Slope: of predicted by reference; well below 1 if the model guesses sizes toward the middle
	Slope *float64 `json:"slope,omitempty"`
	// Intercept: absent like Slope if all references are equal
	Intercept *float64       `json:"intercept,omitempty"`
	Smallest  smallestReport `json:"smallestQuarter"`
}

// smallestReport is of the quarter of the images, rounded up, with the smallest references.
type smallestReport struct {
	Images    int              `json:"images"`
	Reference float64          `json:"reference"` // mean
	Bias      *metric.Interval `json:"bias"`      // predicted less reference
}

// ratio compares the vertical cup-to-disc ratio with that of the majority's masks; nil without
// these structures or marks. A disc or cup that was not found counts as a ratio of 0.
func (s *scorer) ratio(l *dataset.Loaded, m maps) *ratioScore {
	disc, cup := segment.DiscAndCup(s.data.Classes)
	if disc < 0 || cup < 0 {
		return nil
	}
	outer, marked := l.Votes(disc)
	inner, both := l.Votes(cup)
	if !marked || !both || metric.Area(outer.Mean()) == 0 {
		return nil
	}
	w, h := l.Image.W, l.Image.H
	out := &ratioScore{
		Reference: metric.VerticalRatio(outer.Mean(), inner.Mean(), w, h), Predicted: metric.VerticalRatio(m.last(disc), m.last(cup), w, h),
	}
	out.Experts = experts(l, disc, cup, out.Reference)
	if measured := m.measured.VerticalRatio; measured != nil {
		out.Interval, out.Raters = promised(measured.Interval, out.Reference), ranged(measured, out.Reference)
	}
	return out
}

// ratios gathers the ratios of all cases; nil without any.
func ratios(cases []*caseScore) *ratioReport {
	scores := statistics.NonNil(cases, func(c *caseScore) *ratioScore { return c.Ratio })
	if len(scores) == 0 {
		return nil
	}
	slices.SortStableFunc(scores, func(a, b *ratioScore) int { return cmp.Compare(a.Reference, b.Reference) })
	references := statistics.Values(scores, func(s *ratioScore) float64 { return s.Reference })
	slope, intercept := metric.Line(references, statistics.Values(scores, func(s *ratioScore) float64 { return s.Predicted }))
	quarter := (len(scores) + 3) / 4
	return &ratioReport{
		Images: len(scores), Error: statistics.MeanOver(scores, func(s *ratioScore) float64 { return math.Abs(s.bias()) }), Bias: statistics.MeanOver(scores, (*ratioScore).bias),
		Slope: statistics.Defined(slope), Intercept: statistics.Defined(intercept),
		Smallest: smallestReport{quarter, metric.Mean(references[:quarter]), statistics.MeanOver(scores[:quarter], (*ratioScore).bias)},
	}
}

func (t *table) ratio(v *ratioReport) {
	t.Title("Vertical cup/disc ratio against the majority's, %d images", v.Images)
	t.row("absolute error", v.Error, report.Plain, 1, 3)
	t.row("bias", v.Bias, report.Signed, 1, 3)
	if v.Slope != nil {
		t.Line("predicted by true, least squares\tslope %.2f, intercept %+.3f", *v.Slope, *v.Intercept)
	}
	t.Line("bias of the smallest quarter (%d, true mean %.2f)\t%s", v.Smallest.Images, v.Smallest.Reference, report.Signed(v.Smallest.Bias, 1, 3))
}

// heldInterval is an interval of one image beside the majority's figure.
type heldInterval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Promised: share of images, 0..1, in which the interval should hold the figure; absent without a
	// promise
	Promised  *float64 `json:"promised,omitempty"`
	Reference float64  `json:"reference"` // the majority's figure
}

func (h *heldInterval) holds() bool { return h.Low <= h.Reference && h.Reference <= h.High }

// promised is a result's interval beside the majority's figure; nil without an interval.
func promised(i *segment.Interval, reference float64) *heldInterval {
	if i == nil {
		return nil
	}
	return &heldInterval{i.Low, i.High, &i.Coverage, reference}
}

// ranged is the range of the mask's and the heads' ratios beside the majority's; nil without a
// range.
func ranged(r *segment.Ratio, reference float64) *heldInterval {
	if r == nil || r.Low == nil || r.High == nil {
		return nil
	}
	return &heldInterval{Low: *r.Low, High: *r.High, Reference: reference}
}

// coverageReport says how often intervals hold the majority's figure. From Share on, everything is
// null without images.
type coverageReport struct {
	Images   int      `json:"images"`   // with an interval
	Without  int      `json:"without"`  // images with the majority's figure and no interval
	Inside   int      `json:"inside"`   // images whose interval holds the figure
	Share    *float64 `json:"share"`    // of Images
	Low      *float64 `json:"low"`      // Wilson's 95 % interval of the share
	High     *float64 `json:"high"`     //
	Promised *float64 `json:"promised"` // null without a promise
	Width    *float64 `json:"width"`    // median
}

// coverage gathers intervals, which are nil for an image without one. Relative widths are in units
// of each image's figure; an image whose figure is 0 has none. It is nil without images.
func coverage(intervals []*heldInterval, relative bool) *coverageReport {
	if len(intervals) == 0 {
		return nil
	}
	all := statistics.Filter(intervals, func(h *heldInterval) bool { return h != nil })
	out := &coverageReport{Images: len(all), Without: len(intervals) - len(all), Inside: len(statistics.Filter(all, (*heldInterval).holds))}
	if out.Images == 0 {
		return out
	}
	low, high := metric.Wilson(out.Inside, out.Images)
	out.Share, out.Low, out.High = new(float64(out.Inside)/float64(out.Images)), &low, &high
	out.Promised = all[0].Promised // all intervals are from the same weights
	unit := func(h *heldInterval) float64 { return 1 }
	if relative {
		all = statistics.Filter(all, func(h *heldInterval) bool { return h.Reference > 0 })
		unit = func(h *heldInterval) float64 { return h.Reference }
	}
	out.Width = statistics.Defined(metric.Median(statistics.Values(all, func(h *heldInterval) float64 { return (h.High - h.Low) / unit(h) })))
	return out
}

type coveragesReport struct {
	Areas []*coverageReport `json:"areas"` // by class; null for a class without marks
	Ratio *coverageReport   `json:"verticalRatio,omitempty"`
	// Raters: the range of the mask's and the heads' ratios
	Raters *coverageReport `json:"verticalRatioOfRaters,omitempty"`
}

// coverages gathers the intervals of all cases; nil without cases.
func (s *scorer) coverages() *coveragesReport {
	if len(s.cases) == 0 {
		return nil
	}
	var out coveragesReport
	for k := range s.data.Classes {
		marked := s.marked(k)
		out.Areas = append(out.Areas, coverage(statistics.Tabulate(len(marked), func(i int) *heldInterval { return marked[i].Interval }), true))
	}
	ratios := statistics.NonNil(s.cases, func(c *caseScore) *ratioScore { return c.Ratio })
	out.Ratio = coverage(statistics.Tabulate(len(ratios), func(i int) *heldInterval { return ratios[i].Interval }), false)
	out.Raters = coverage(statistics.Tabulate(len(ratios), func(i int) *heldInterval { return ratios[i].Raters }), false)
	return &out
}

func (t *table) coverages(r *Report) {
	t.Title("Intervals: how often they hold the majority's figure")
	t.Line("\timages\twithout one\tinside\tpromised\tmedian width")
	for k, c := range r.Intervals.Areas {
		t.coverage("area of the "+r.Classes[k].Class, c, func(width float64) string { return fmt.Sprintf("%.1f %% of the area", 100*width) })
	}
	ratio := func(width float64) string { return fmt.Sprintf("%.3f", width) }
	t.coverage("vertical cup/disc ratio", r.Intervals.Ratio, ratio)
	t.coverage("  range of the mask and the heads", r.Intervals.Raters, ratio)
}

// coverage prints a row; nothing for nil.
func (t *table) coverage(name string, c *coverageReport, show func(width float64) string) {
	if c == nil {
		return
	}
	inside, width, wanted := "–", "–", "–"
	if c.Share != nil {
		inside = report.Plain(&metric.Interval{Mean: *c.Share, Low: c.Low, High: c.High}, 100, 1) + " %"
	}
	if c.Promised != nil {
		wanted = fmt.Sprintf("%.0f %%", 100**c.Promised)
	}
	if c.Width != nil {
		width = show(*c.Width)
	}
	t.Line("%s\t%d\t%d\t%s\t%s\t%s", name, c.Images, c.Without, inside, wanted, width)
}
