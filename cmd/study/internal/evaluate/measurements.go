package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
)

// ratioScore is one image's vertical cup-to-disc ratio.
type ratioScore struct {
	statistics.Unit `json:"-"`
	Reference       float64       `json:"reference"` // of the majority's masks
	Experts         float64       `json:"experts"`   // mean of the ratios of the experts, or levels
	Predicted       float64       `json:"predicted"`
	Interval        *heldInterval `json:"interval,omitempty"`
	Raters          *heldInterval `json:"ratersRange,omitempty"` // of the ratios of the mask and of the heads
}

func (s *ratioScore) bias() float64 { return s.Predicted - s.Reference }

type ratioReport struct {
	Images int              `json:"images"`
	Error  *metric.Interval `json:"absoluteError"`
	Bias   *metric.Interval `json:"bias"` // predicted less reference
	// Limits of agreement (Bland and Altman 1986, 2007): the bias less and plus 1.96 standard
	// deviations; absent for one image
	Limits []float64 `json:"limitsOfAgreement,omitempty"`
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
func (s *study) ratio(l *dataset.Loaded, r *segment.Result) *ratioScore {
	disc, cup := metric.DiscAndCup(s.data.Classes)
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
		Reference: metric.VerticalRatio(outer.Mean(), inner.Mean(), w, h), Predicted: metric.VerticalRatio(r.Probability(disc), r.Probability(cup), w, h),
	}
	out.Experts = experts(l, disc, cup, out.Reference)
	if measured := r.Measurements.VerticalRatio; measured != nil {
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
	slope, intercept := metrics.Line(references, statistics.Values(scores, func(s *ratioScore) float64 { return s.Predicted }))
	quarter := (len(scores) + 3) / 4
	_, limits := statistics.BlandAltman(scores, (*ratioScore).bias)
	return &ratioReport{
		Images: len(scores), Error: statistics.MeanWithin(0, math.Inf(1), scores, func(s *ratioScore) float64 { return math.Abs(s.bias()) }), Bias: statistics.MeanOver(scores, (*ratioScore).bias), Limits: limits,
		Slope: statistics.Defined(slope), Intercept: statistics.Defined(intercept),
		Smallest: smallestReport{quarter, metric.Mean(references[:quarter]), statistics.MeanOver(scores[:quarter], (*ratioScore).bias)},
	}
}

func (r *ratioReport) table() report.Table {
	t := report.Table{Title: fmt.Sprintf("Vertical cup/disc ratio against the majority's, %d images", r.Images), Columns: report.Columns("", "")}
	t.Add("absolute error", report.Plain(r.Error, 1, 3))
	t.Add("bias", report.Signed(r.Bias, 1, 3))
	if r.Limits != nil {
		t.Add("limits of agreement (bias ± 1.96 standard deviations)", fmt.Sprintf("%+.3f to %+.3f", r.Limits[0], r.Limits[1]))
	}
	if r.Slope != nil {
		t.Add("predicted by true, least squares", fmt.Sprintf("slope %.2f, intercept %+.3f", *r.Slope, *r.Intercept))
	}
	t.Add(fmt.Sprintf("bias of the smallest quarter (%d, true mean %.2f)", r.Smallest.Images, r.Smallest.Reference), report.Signed(r.Smallest.Bias, 1, 3))
	return t
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
	low, high := metrics.Wilson(out.Inside, out.Images)
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
func (s *study) coverages() *coveragesReport {
	if len(s.scores) == 0 {
		return nil
	}
	var out coveragesReport
	for k := range s.data.Classes {
		marked := s.marked(k)
		out.Areas = append(out.Areas, coverage(statistics.Tabulate(len(marked), func(i int) *heldInterval { return marked[i].Interval }), true))
	}
	ratios := statistics.NonNil(s.scores, func(c *caseScore) *ratioScore { return c.Ratio })
	out.Ratio = coverage(statistics.Tabulate(len(ratios), func(i int) *heldInterval { return ratios[i].Interval }), false)
	out.Raters = coverage(statistics.Tabulate(len(ratios), func(i int) *heldInterval { return ratios[i].Raters }), false)
	return &out
}

func (r *coveragesReport) table(classes []structure) report.Table {
	t := report.Table{
		Title:   "Intervals: how often they hold the majority's figure",
		Columns: report.Columns("", "images", "without one", "inside", "promised", "median width"),
	}
	for k, c := range r.Areas {
		c.add(&t, "area of the "+classes[k].name, "%.1f %% of the area", 100)
	}
	r.Ratio.add(&t, "vertical cup/disc ratio", "%.3f", 1)
	r.Raters.add(&t, "  range of the mask and the heads", "%.3f", 1)
	return t
}

// add adds a row; nothing for nil.
func (c *coverageReport) add(t *report.Table, name, form string, scale float64) {
	if c == nil {
		return
	}
	inside := "–"
	if c.Share != nil {
		inside = report.Plain(&metric.Interval{Mean: *c.Share, Low: c.Low, High: c.High}, 100, 1) + " %"
	}
	t.Add(name, c.Images, c.Without, inside, report.Scaled("%.0f %%", c.Promised, 100), report.Scaled(form, c.Width, scale))
}
