package main

import (
	"math"

	"mrprism/internal/metric"
	"mrprism/model"
	"mrprism/weights"
)

// report is everything, as in the JSON. Intervals are of the mean over images; shares are 0..1.
type report struct {
	Weights     source           `json:"weights"`
	Against     *source          `json:"against,omitempty"`
	Device      string           `json:"device"`
	Precision   model.Precision  `json:"precision"`
	Raters      []string         `json:"raters"`
	Labels      string           `json:"labels"`
	Recurrences int              `json:"recurrences"`
	Data        string           `json:"data,omitempty"` // empty without -data, as is what follows but for the last three
	Split       string           `json:"split,omitempty"`
	Region      string           `json:"roi,omitempty"`
	Images      int              `json:"images"`
	Of          int              `json:"of,omitempty"`                // images of the split, where the program was stopped before all were scored
	NotFound    int              `json:"notFound"`                    // scored as empty masks
	NotFoundBy  int              `json:"notFoundByAgainst,omitempty"` // the same of the other weights
	Doubts      *doubtsReport    `json:"doubts,omitempty"`
	Classes     []classReport    `json:"classes,omitempty"`
	Ratio       *ratioReport     `json:"verticalRatio,omitempty"`
	Intervals   *coveragesReport `json:"intervals,omitempty"`
	Risk        *riskReport      `json:"riskCoverage,omitempty"`
	Changes     []changeReport   `json:"changes,omitempty"`
	Cases       []*caseScore     `json:"cases,omitempty"`
	Centres     *centresReport   `json:"centres,omitempty"`
	Foreign     *foreignReport   `json:"foreign,omitempty"`
	Odd         *oddReport       `json:"doubtScore,omitempty"` // of all pictures, with -centres or -foreign

	sheet *sheet // of -worst
}

// source says which weights these are.
type source struct {
	Given  string `json:"given"`
	Name   string `json:"name"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
}

type classReport struct {
	Class       string             `json:"class"`
	Images      int                `json:"images"`                // in which it is marked
	SoftDice    []metric.Interval  `json:"softDice"`              // Rec0 … RecN
	Gain        *metric.Interval   `json:"gain,omitempty"`        // last less Rec0
	GainP       *float64           `json:"gainP,omitempty"`       // Wilcoxon's signed-rank test of that
	Against     *metric.Interval   `json:"against,omitempty"`     // the other weights' Rec0
	OverAgainst *metric.Interval   `json:"overAgainst,omitempty"` // last less that
	OverP       *float64           `json:"overAgainstP,omitempty"`
	Truth       *truthReport       `json:"truth,omitempty"`
	Calibration *calibrationReport `json:"calibration,omitempty"`
	Heads       *headsReport       `json:"heads,omitempty"`
	Response    []responseReport   `json:"response,omitempty"` // by rater
	Agreement   *agreementReport   `json:"agreement,omitempty"`
	Set         *setReport         `json:"set,omitempty"`
	Marks       *marksReport       `json:"marks,omitempty"`
	Follows     *float64           `json:"follows,omitempty"` // slope of the mask's change of area over the raters' own: 1 follows, 0 does not move
}

type calibrationReport struct {
	ECE15   float64 `json:"ece15"` // inside the union of all marks
	ECE50   float64 `json:"ece50"`
	Brier   float64 `json:"brier"`
	Whole   float64 `json:"ece15WholeImage"`
	WholeSq float64 `json:"brierWholeImage"`
}

type headsReport struct {
	Dice   [][]*float64     `json:"dice"` // means: heads by raters
	Own    *metric.Interval `json:"own,omitempty"`
	Others *metric.Interval `json:"others,omitempty"`
	Margin *metric.Interval `json:"margin,omitempty"` // own less others
	Raters *metric.Interval `json:"raters,omitempty"` // each rater against the others: what people reach
}

type responseReport struct {
	Rater  string          `json:"rater"`
	Images int             `json:"images"`
	Area   metric.Interval `json:"area"`
	Moved  metric.Interval `json:"moved"`     // |change of area|
	Own    metric.Interval `json:"raterArea"` // of the rater's mask against the majority's
	Before metric.Interval `json:"before"`
	After  metric.Interval `json:"after"`
	Gain   metric.Interval `json:"gain"` // after less before
}

const (
	resamples = 2000
	seed      = 1 // the same scores always give the same intervals
)

// interval is nil without values.
func interval(values []float64) *metric.Interval {
	if len(values) == 0 {
		return nil
	}
	i := metric.Bootstrap(values, resamples, seed)
	return &i
}

func about(given string, m *weights.Model) source {
	return source{given, m.Metadata.Name, m.Label(), m.SHA256}
}

// report gathers what was judged of the input: all of it, or a part where the program was stopped.
func (s *scorer) report(in *input) *report {
	made := &s.session.Model.Metadata
	r := &report{
		Weights: about(s.weightsName, s.session.Model), Device: s.adapter, Precision: s.precision, Raters: made.Raters, Labels: made.Labels,
		Recurrences: s.recurrences, Centres: s.centresReport(in.centres), Foreign: s.foreignReport(in.foreign), Odd: s.odd(),
		sheet: s.sheet,
	}
	if s.against != nil {
		other := about(s.againstName, s.against.Model)
		r.Against = &other
	}
	if s.data != nil {
		s.dataReport(r, len(in.cases))
	}
	return r
}

// dataReport gathers the scores of the cases: of so many images, or of fewer where the program was
// stopped.
func (s *scorer) dataReport(r *report, images int) {
	r.Data, r.Split, r.Region, r.Images, r.Cases = s.request.data, s.split, s.region, len(s.cases), s.cases
	for _, c := range s.cases {
		if !c.Found {
			r.NotFound++
		}
		if c.Against != nil && !*c.Against {
			r.NotFoundBy++
		}
	}
	if len(s.cases) < images {
		r.Of = images
	}
	for k := range s.data.Classes {
		r.Classes = append(r.Classes, s.classReport(k))
	}
	r.Doubts, r.Ratio, r.Intervals, r.Risk = doubts(s.cases), ratios(s.cases), s.coverages(), risks(s.cases)
	if s.changed {
		r.Changes = s.changeReports()
	}
}

func (s *scorer) classReport(k int) classReport {
	out := classReport{Class: s.data.Classes[k]}
	var scores []*classScore
	for _, c := range s.cases {
		if c.Classes[k] != nil {
			scores = append(scores, c.Classes[k])
		}
	}
	if out.Images = len(scores); out.Images == 0 {
		return out
	}
	each := func(f func(*classScore) float64) (values []float64) {
		for _, c := range scores {
			values = append(values, f(c))
		}
		return values
	}
	of := func(f func(*classScore) float64) *metric.Interval { return interval(each(f)) }
	paired := func(f func(*classScore) float64) (*metric.Interval, *float64) {
		values := each(f)
		return interval(values), defined(metric.Wilcoxon(values))
	}
	n := s.recurrences
	for i := range n + 1 {
		out.SoftDice = append(out.SoftDice, *of(func(c *classScore) float64 { return c.SoftDice[i] }))
	}
	if n > 0 {
		out.Gain, out.GainP = paired(func(c *classScore) float64 { return c.SoftDice[n] - c.SoftDice[0] })
	}
	out.Truth = truths(scores)
	if s.against != nil {
		out.Against = of(func(c *classScore) float64 { return *c.Against })
		out.OverAgainst, out.OverP = paired(func(c *classScore) float64 { return c.SoftDice[n] - *c.Against })
	}
	if cal := s.calibration[k]; !math.IsNaN(cal.union15.ECE()) {
		out.Calibration = &calibrationReport{cal.union15.ECE(), cal.union50.ECE(), cal.union15.Brier(), cal.whole15.ECE(), cal.whole15.Brier()}
	}
	out.Set, out.Agreement = setReports(scores)
	out.Response, out.Follows = responses(s.data.Raters, scores)
	if scores[0].Heads != nil {
		out.Heads = heads(scores)
		out.Marks = s.marksReport(k)
	}
	return out
}

// heads averages the matrices; own, others and margin are first averaged within an image.
func heads(scores []*classScore) *headsReport {
	m := len(scores[0].Heads)
	out := &headsReport{Dice: make([][]*float64, m)}
	for i := range m {
		out.Dice[i] = make([]*float64, m)
		for j := range m {
			var values []float64
			for _, c := range scores {
				if d := c.Heads[i][j]; d != nil {
					values = append(values, *d)
				}
			}
			if len(values) > 0 {
				mean := metric.Mean(values)
				out.Dice[i][j] = &mean
			}
		}
	}
	var own, others, margin, raters []float64
	for _, c := range scores {
		diagonal, rest := parts(c.Heads)
		if len(diagonal) > 0 {
			own = append(own, metric.Mean(diagonal))
		}
		if len(rest) > 0 {
			others = append(others, metric.Mean(rest))
		}
		if len(diagonal) > 0 && len(rest) > 0 {
			margin = append(margin, metric.Mean(diagonal)-metric.Mean(rest))
		}
		if _, among := parts(c.Raters); len(among) > 0 {
			raters = append(raters, metric.Mean(among))
		}
	}
	out.Own, out.Others, out.Margin, out.Raters = interval(own), interval(others), interval(margin), interval(raters)
	return out
}

// parts are the values on the diagonal and those beside it.
func parts(matrix [][]*float64) (diagonal, rest []float64) {
	for i, row := range matrix {
		for j, d := range row {
			switch {
			case d == nil:
			case i == j:
				diagonal = append(diagonal, *d)
			default:
				rest = append(rest, *d)
			}
		}
	}
	return diagonal, rest
}

// responses averages by rater, and fits how far the mask follows: Σ moved·own / Σ own² over all images and raters.
func responses(names []string, scores []*classScore) (out []responseReport, follows *float64) {
	product, square := 0.0, 0.0
	for m, name := range names {
		var area, moved, rater, before, after, gain []float64
		for _, c := range scores {
			if c.Response == nil || c.Response[m] == nil {
				continue
			}
			r := c.Response[m]
			area, moved, rater = append(area, r.Area), append(moved, math.Abs(r.Area)), append(rater, r.RaterArea)
			before, after, gain = append(before, r.Before), append(after, r.After), append(gain, r.After-r.Before)
			product += r.Area * r.RaterArea
			square += r.RaterArea * r.RaterArea
		}
		if len(area) > 0 {
			out = append(out, responseReport{
				name, len(area), *interval(area), *interval(moved), *interval(rater), *interval(before), *interval(after), *interval(gain),
			})
		}
	}
	if square > 0 {
		slope := product / square
		follows = &slope
	}
	return out, follows
}
