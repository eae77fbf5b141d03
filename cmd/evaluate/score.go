package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
	"mrprism/internal/imageio"
	"mrprism/internal/metric"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// scorer segments cases and keeps their scores.
type scorer struct {
	request
	data     *dataset.Dataset // with the model's classes; nil without -data
	session  command.Session
	against  *command.Session // nil: no comparison
	progress *command.Progress

	adapter     string
	cases       []*caseScore  // of -data
	calibration []calibration // by class
	centred     []*centreScore
	foreign     []*foreignScore
	sheet       *sheet // nil without -worst
}

// calibration gathers pixels of all cases.
type calibration struct{ union15, union50, whole15 *metric.Calibration }

// caseScore is one image. All figures are of masks at the image's size; shares are 0..1.
type caseScore struct {
	Name    string         `json:"name"`
	Folder  string         `json:"folder"`
	Region  imageio.Square `json:"region"`
	trust                  // where nothing was found, an empty mask was scored
	Against *bool          `json:"foundByAgainst,omitempty"` // whether the other weights found something
	Classes []*classScore  `json:"classes"`                  // null where nobody has marked the class
	Ratio   *ratioScore    `json:"verticalRatio,omitempty"`
	Changed []changedScore `json:"changed,omitempty"` // by change
}

type classScore struct {
	SoftDice     []float64    `json:"softDice"`               // of Rec0 … RecN against the mean vote
	Truth        []truthScore `json:"truth,omitempty"`        // Rec0 … RecN with the folder's truth/CLASS/NAME.png, where there is one
	Against      *float64     `json:"against,omitempty"`      // soft Dice of the other weights' Rec0 against the mean vote
	TruthAgainst *truthScore  `json:"againstTruth,omitempty"` // that with the truth
	Heads        [][]*float64 `json:"heads,omitempty"`        // Dice of head m (row) with rater n (column); null where the rater is missing
	Raters       [][]*float64 `json:"raters,omitempty"`       // Dice among the raters themselves
	Response     []*response  `json:"response,omitempty"`     // by rater; null where the rater is missing or a mask is empty
	Agreement    agreement    `json:"agreement"`
	Areas        []float64    `json:"areas,omitempty"`    // pixels, by rater; absent where one is missing
	Set          *setScore    `json:"set,omitempty"`      // of named raters
	Interval     *held        `json:"interval,omitempty"` // of the area, pixels
	Marks        []*markScore `json:"marks,omitempty"`    // by rater; null where the rater is missing, absent where no three have marked or nothing is in dispute
}

// response is what happens to the mask when one rater has all the weight.
type response struct {
	Area      float64 `json:"area"`      // change of the mask's area, as a share
	RaterArea float64 `json:"raterArea"` // of the rater's own mask against the majority's: how far a mask that follows would move
	Before    float64 `json:"before"`    // Dice with the rater, all weights equal
	After     float64 `json:"after"`     // with this rater's alone
}

// maps are a case's probabilities at the image's size.
type maps struct {
	recurrences [][][]float32 // [Rec i][class]
	heads       [][][]float32 // [rater][class]
	alone       [][][]float32 // [rater][class], the mask under that rater's weight alone; nil where not asked for
	measured    segment.Measurements
}

// scoreAll scores the cases until one fails, which the error names.
func (s *scorer) scoreAll(ctx context.Context, cases []dataset.Case) error {
	for _, c := range cases {
		s.progress.Begin()
		if err := s.score(ctx, c); err != nil {
			if problems := (dataset.Problems)(nil); errors.As(err, &problems) {
				return err // names its files, which have changed since they were checked
			}
			return fmt.Errorf("%s: %w", c.Image, err)
		}
	}
	return nil
}

// score segments one case and keeps its scores.
func (s *scorer) score(ctx context.Context, c dataset.Case) error {
	s.progress.Show("%s: reading", c.Name)
	l, err := dataset.Load(c)
	if err != nil {
		return err
	}
	score := &caseScore{Name: c.Name, Folder: c.Folder}
	var m maps
	err = s.session.Do(ctx, func(e *segment.Engine) error {
		m = maps{}
		return s.segment(ctx, e, l, score, &m)
	})
	if err != nil {
		return err
	}
	var other [][]float32
	if s.against != nil {
		s.progress.Show("%s: the other weights", c.Name)
		var seen bool
		if other, seen, err = s.masks(ctx, s.against, l, 0); err != nil {
			return err
		}
		score.Against = &seen
	}
	if s.changed {
		if score.Changed, err = s.changes(ctx, l); err != nil {
			return err
		}
	}
	truths := make([][]uint8, len(s.data.Classes))
	for k, class := range s.data.Classes {
		if truths[k], err = readTruth(c, class); err != nil {
			return err
		}
	}
	for k, truth := range truths { // nothing fails from here on: a case is scored as a whole or not at all
		score.Classes = append(score.Classes, s.class(l, m, other, k, truth))
	}
	score.Ratio = s.ratio(l, m)
	s.cases = append(s.cases, score)
	if s.sheet != nil {
		s.sheet.offerCase(l, m, score)
	}
	return nil
}

// masks are the probabilities (by class) of the last recurrence, and whether anything was found.
func (s *scorer) masks(ctx context.Context, session *command.Session, l *dataset.Loaded, recurrences int) (masks [][]float32, seen bool, err error) {
	err = session.Do(ctx, func(e *segment.Engine) error {
		r, err := e.Segment(ctx, l.Image, segment.Options{Recurrences: recurrences, ROI: s.region})
		if err != nil {
			return err
		}
		masks, seen = nil, r.Found
		for k := range s.data.Classes {
			masks = append(masks, r.Probability(k))
		}
		return nil
	})
	return masks, seen, err
}

// segment fills m, and what score says of the region.
func (s *scorer) segment(ctx context.Context, e *segment.Engine, l *dataset.Loaded, score *caseScore, m *maps) error {
	about := e.Metadata()
	n := s.recurrences
	s.progress.Show("%s: segmenting", l.Name)
	r, err := e.Segment(ctx, l.Image, segment.Options{Recurrences: n, ROI: s.region})
	if err != nil {
		return err
	}
	score.trust, score.Region, s.adapter, m.measured = trustOf(r), r.ROI, e.Adapter(), r.Measurements
	read := func(of func(k int) []float32) (out [][]float32) {
		for k := range about.Classes {
			out = append(out, of(k))
		}
		return out
	}
	for i := range n + 1 {
		m.recurrences = append(m.recurrences, read(func(k int) []float32 { return r.Recurrence(i, k) }))
	}
	if !s.sameRaters() {
		return nil
	}
	heads := segment.Feedbacks(&about) > 0 // the others mean nothing
	if heads {
		for i := range about.Raters {
			m.heads = append(m.heads, read(func(k int) []float32 { return r.Rater(i, k) }))
		}
	}
	if about.Labels == weights.LabelsAgreementLevels || !score.Found || !heads && !r.Steered {
		return nil
	}
	for i := range about.Raters {
		s.progress.Show("%s: all weight to rater %d of %d", l.Name, i+1, len(about.Raters))
		one := make([]float32, len(about.Raters))
		one[i] = 1
		if r, err = e.Recalculate(ctx, segment.Options{Recurrences: n, RaterWeights: one}); err != nil {
			return err
		}
		m.alone = append(m.alone, read(func(k int) []float32 { return r.Probability(k) }))
	}
	return nil
}

// sameRaters reports whether the model's heads are the data's raters.
func (s *scorer) sameRaters() bool {
	about := &s.session.Model.Metadata
	return slices.Equal(about.Raters, s.data.Raters) && (about.Labels == weights.LabelsAgreementLevels) == s.data.Levels
}

// strangers says what is left out where they are not; empty where they are.
func (s *scorer) strangers() string {
	if s.data == nil || s.sameRaters() {
		return ""
	}
	about := &s.session.Model.Metadata
	return fmt.Sprintf("the heads of %s are of %s %s, in this order, and the data has %s %s: what compares heads with raters, or gives raters weights, is left out", about.Name,
		about.Labels, strings.Join(about.Raters, ", "), labels(s.data), strings.Join(s.data.Raters, ", "))
}

func labels(d *dataset.Dataset) string {
	if d.Levels {
		return weights.LabelsAgreementLevels
	}
	return weights.LabelsRaters
}

// class scores one structure; nil where its votes cannot be counted.
func (s *scorer) class(l *dataset.Loaded, m maps, other [][]float32, k int, truth []uint8) *classScore {
	votes, ok := l.Votes(k)
	if !ok {
		return nil
	}
	out := &classScore{Areas: s.areas(l, k)}
	for _, maps := range m.recurrences {
		out.SoftDice = append(out.SoftDice, metric.SoftDice(maps[k], votes, metric.DefaultSoftDice))
	}
	if other != nil {
		d := metric.SoftDice(other[k], votes, metric.DefaultSoftDice)
		out.Against = &d
	}
	if truth != nil {
		right := newTruth(truth, votes)
		for _, maps := range m.recurrences {
			out.Truth = append(out.Truth, right.score(maps[k]))
		}
		if other != nil {
			d := right.score(other[k])
			out.TruthAgainst = &d
		}
	}
	last := m.recurrences[len(m.recurrences)-1][k]
	s.calibrate(k, last, votes)
	out.Agreement = agree(last, votes, l.Image.W, l.Image.H)
	marks := make([][]uint8, len(l.Masks))
	for i := range marks {
		marks[i] = l.Masks[i][k]
	}
	ofHeads := make([][]float32, len(m.heads))
	for i, head := range m.heads {
		ofHeads[i] = head[k]
		out.Heads = append(out.Heads, dices(head[k], marks))
		out.Raters = append(out.Raters, make([]*float64, len(marks)))
		if marks[i] != nil {
			out.Raters[i] = dices(marks[i], marks)
		}
	}
	if m.heads != nil && !s.data.Levels {
		out.Set = set(ofHeads, marks)
		if m.alone != nil {
			out.Marks = marked(ofHeads, marks, truth)
		}
	}
	majority := metric.Area(votes.Mean())
	out.Interval = promised(m.measured.Structures[k].Interval, float64(majority))
	for i, alone := range m.alone {
		out.Response = append(out.Response, nil)
		area := metric.Area(last)
		if marks[i] == nil || area == 0 || majority == 0 {
			continue
		}
		out.Response[i] = &response{
			Area: float64(metric.Area(alone[k]))/float64(area) - 1, RaterArea: float64(metric.Area(marks[i]))/float64(majority) - 1,
			Before: metric.Dice(last, marks[i]), After: metric.Dice(alone[k], marks[i]),
		}
	}
	return out
}

// dices is the Dice of a mask with every rater's; nil where the rater is missing.
func dices[T metric.Pixel](mask []T, marks [][]uint8) []*float64 {
	out := make([]*float64, len(marks))
	for i, mark := range marks {
		if mark != nil {
			d := metric.Dice(mask, mark)
			out[i] = &d
		}
	}
	return out
}

func (s *scorer) calibrate(k int, p []float32, votes metric.Votes) {
	for len(s.calibration) < len(s.data.Classes) {
		s.calibration = append(s.calibration, calibration{metric.NewCalibration(15), metric.NewCalibration(50), metric.NewCalibration(15)})
	}
	union := votes.Union()
	s.calibration[k].union15.Add(p, votes, union)
	s.calibration[k].union50.Add(p, votes, union)
	s.calibration[k].whole15.Add(p, votes, nil)
}
