package evaluate

import (
	"math"

	"mrprism/internal/data/metric"
	"mrprism/internal/study/compare"
	"mrprism/internal/study/statistics"
	"mrprism/model"
	"mrprism/weights"
)

// Report holds all figures, as the JSON has them. Intervals are of the mean over images; shares are
// 0..1. From Data to Cases everything is empty without -data.
type Report struct {
	Weights     source          `json:"weights"`
	Device      string          `json:"device"`
	Precision   model.Precision `json:"precision"`
	Raters      []string        `json:"raters"`
	Labels      string          `json:"labels"`
	Recurrences int             `json:"recurrences"`
	Data        string          `json:"data,omitempty"`
	Split       string          `json:"split,omitempty"` // test, validation, train or all
	Lists       []string        `json:"lists,omitempty"` // the splits of the data, by sizes and a sum; none: every fifth is held out
	Region      string          `json:"roi,omitempty"`
	Images      int             `json:"images"`
	// Of: images of the split, if the program was stopped before it scored all
	Of        int              `json:"of,omitempty"`
	NotFound  int              `json:"notFound"` // scored as empty masks
	Doubts    *doubtsReport    `json:"doubts,omitempty"`
	Classes   []classReport    `json:"classes,omitempty"`
	Ratio     *ratioReport     `json:"verticalRatio,omitempty"`
	Intervals *coveragesReport `json:"intervals,omitempty"`
	Risk      *riskReport      `json:"riskCoverage,omitempty"`
	Words     []wordsReport    `json:"trust,omitempty"` // of -data
	Changes   []changeReport   `json:"changes,omitempty"`
	Steady    *steadyReport    `json:"ratioUnderExposure,omitempty"`
	Cases     []*caseScore     `json:"cases,omitempty"`
	Centres   *centresReport   `json:"centres,omitempty"`
	Foreign   *foreignReport   `json:"foreign,omitempty"`
	// Against: this model beside the weights of -against, by the mean vote and, if there is one, by
	// the truth
	Against []*compare.Comparison `json:"against,omitempty"`
	// Odd: of all pictures, with -centres or -foreign
	Odd *oddReport `json:"doubtScore,omitempty"`

	sheet *contactSheet // of -worst
}

// source names weights.
type source struct {
	Given  string `json:"given"`
	Name   string `json:"name"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
}

// classReport is one structure over all images in which it is marked.
type classReport struct {
	Class       string             `json:"class"`
	Images      int                `json:"images"`
	SoftDice    []*metric.Interval `json:"softDice"`        // Rec0 … RecN
	Unmarked    int                `json:"unmarked"`        // of Images, those in which every mark is empty
	BothEmpty   int                `json:"bothEmpty"`       // of these, those whose RecN has no pixel above one half
	Marked      *metric.Interval   `json:"softDiceMarked"`  // RecN in the others; null without any
	Gain        *metric.Interval   `json:"gain,omitempty"`  // RecN less Rec0
	GainP       *float64           `json:"gainP,omitempty"` // of Wilcoxon's signed-rank test
	Truth       *truthReport       `json:"truth,omitempty"`
	Calibration *calibrationReport `json:"calibration,omitempty"`
	Heads       *headsReport       `json:"heads,omitempty"`
	Response    []responseReport   `json:"response,omitempty"` // by rater
	Agreement   *agreementReport   `json:"agreement,omitempty"`
	Set         *setReport         `json:"set,omitempty"`
	Marks       *marksReport       `json:"marks,omitempty"`
	// Follows: slope of the mask's change of area over the raters': 1 follows, 0 does not move
	Follows *float64 `json:"follows,omitempty"`
}

// calibrationReport has figures inside the union of all marks and in the whole image.
type calibrationReport struct {
	ECE15   float64 `json:"ece15"` // with 15 bins
	ECE50   float64 `json:"ece50"`
	Brier   float64 `json:"brier"`
	Whole   float64 `json:"ece15WholeImage"`
	WholeSq float64 `json:"brierWholeImage"`
}

func about(given string, m *weights.Model) source {
	return source{given, m.Metadata.Name, m.Label(), m.SHA256}
}

// report gathers the scores. If the program was stopped, they are of a part of the input.
func (s *scorer) report(in *input) *Report {
	made := &s.session.Model.Metadata
	r := &Report{
		Weights: about(s.Weights, s.session.Model), Device: s.adapter, Precision: s.Precision, Raters: made.Raters, Labels: made.Labels,
		Recurrences: s.Recurrences, Centres: s.centresReport(in.centres), Foreign: s.foreignReport(in.foreign), Odd: s.odd(),
		sheet: s.sheet,
	}
	if s.data != nil {
		s.dataReport(r, len(in.cases))
	}
	return r
}

// dataReport gathers the scores of the cases, of which the split has a number of images.
func (s *scorer) dataReport(r *Report, images int) {
	r.Data, r.Split, r.Region, r.Images, r.Cases = s.Images.Data, s.On, s.Region, len(s.cases), s.cases
	r.Lists = s.data.Splits
	r.NotFound = len(statistics.Filter(s.cases, func(c *caseScore) bool { return !c.Found }))
	if len(s.cases) < images {
		r.Of = images
	}
	for k := range s.data.Classes {
		r.Classes = append(r.Classes, s.classReport(k))
	}
	r.Doubts, r.Ratio, r.Intervals, r.Risk = doubts(s.cases), ratios(s.cases), s.coverages(), risks(s.cases)
	r.Words = s.caseWords()
	if s.Changed {
		r.Changes, r.Steady = s.changeReports(), steadyRatios(s.dataEyes())
	}
}

// marked are the scores of a structure in the images in which somebody has marked it.
func (s *scorer) marked(k int) []*classScore {
	return statistics.NonNil(s.cases, func(c *caseScore) *classScore { return c.Classes[k] })
}

func (s *scorer) classReport(k int) classReport {
	out := classReport{Class: s.data.Classes[k]}
	scores := s.marked(k)
	if out.Images = len(scores); out.Images == 0 {
		return out
	}
	n := s.Recurrences
	out.SoftDice = statistics.Tabulate(n+1, func(i int) *metric.Interval {
		return statistics.MeanOver(scores, func(c *classScore) float64 { return c.SoftDice[i] })
	})
	shown := statistics.Filter(scores, func(c *classScore) bool { return !c.Unmarked })
	out.Unmarked, out.BothEmpty = len(scores)-len(shown), len(statistics.Filter(scores, func(c *classScore) bool { return c.BothEmpty }))
	out.Marked = statistics.MeanOver(shown, func(c *classScore) float64 { return c.SoftDice[n] })
	if n > 0 {
		out.Gain, out.GainP = statistics.Tested(scores, func(c *classScore) float64 { return c.SoftDice[n] - c.SoftDice[0] })
	}
	out.Truth = truths(scores)
	if c := s.calibration[k]; !math.IsNaN(c.union15.ECE()) {
		out.Calibration = &calibrationReport{c.union15.ECE(), c.union50.ECE(), c.union15.Brier(), c.whole15.ECE(), c.whole15.Brier()}
	}
	out.Set, out.Agreement = setReports(scores)
	out.Response, out.Follows = responses(s.data.Raters, scores)
	if scores[0].Heads != nil {
		out.Heads = heads(scores)
		out.Marks = s.marksReport(k)
	}
	return out
}
