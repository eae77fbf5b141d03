package evaluate

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/study/score"
	"mrprism/internal/study/statistics"
	"mrprism/weights"
)

// scorer segments images and keeps their scores.
type scorer struct {
	Request
	data     *dataset.Dataset // with the model's classes; nil without -data
	session  command.Session
	progress *command.Progress

	adapter     string        // what computed
	cases       []*caseScore  // of -data
	calibration []calibration // by class
	centred     []*centreScore
	foreign     []*foreignScore
	sheet       *contactSheet // nil without -worst
}

// calibration gathers pixels of all cases, with 15 or 50 bins.
type calibration struct{ union15, union50, whole15 *metric.Calibration }

// caseScore is one image of -data. All figures are of masks at the image's size; shares are 0..1.
type caseScore struct {
	Name      string         `json:"name"`
	Folder    string         `json:"folder"`
	Region    imageio.Square `json:"region"`
	judgement                // if nothing was found, an empty mask is scored
	Classes   []*classScore  `json:"classes"` // null for a class without marks
	Ratio     *ratioScore    `json:"verticalRatio,omitempty"`
	Changed   []changedScore `json:"changed,omitempty"` // by change
}

// classScore is one structure in one image.
type classScore struct {
	SoftDice []float64 `json:"softDice"` // of Rec0 … RecN against the mean vote
	// Unmarked: every mark is empty. BothEmpty: RecN too has no pixel above one half. Soft Dice
	// then counts 1 for every threshold that RecN does not reach, and 1 is no overlap
	Unmarked  bool `json:"unmarked,omitempty"`
	BothEmpty bool `json:"bothEmpty,omitempty"`
	// Truth: of Rec0 … RecN against truth/CLASS/NAME.png, if that exists
	Truth []score.Truth `json:"truth,omitempty"`
	// Dice of head m (row) with rater n (column); null for a missing mark
	Heads  [][]*float64 `json:"heads,omitempty"`
	Raters [][]*float64 `json:"raters,omitempty"` // Dice of rater m with rater n
	// Response: by rater; null if the mark is missing or a mask is empty
	Response  []*Response   `json:"response,omitempty"`
	Agreement agreement     `json:"agreement"`
	Areas     []float64     `json:"areas,omitempty"`    // pixels, by rater; absent if a mark is missing
	Set       *score.Set    `json:"set,omitempty"`      // of named raters
	Interval  *heldInterval `json:"interval,omitempty"` // of the area, pixels
	// Marks: by rater, null for a missing mark; absent with fewer than three marks or no disputed
	// pixel
	Marks []*markScore `json:"marks,omitempty"`
}

// maps make the probabilities of a case at the image's size, one map at a time: all maps of a large
// image at once do not fit in memory.
type maps struct {
	recurrences int                              // Rec0 … Rec of this number
	recurrence  func(i, class int) []float32     // of Rec i
	head        func(rater, class int) []float32 // nil without heads
	// by rater: the mask with all weight on that rater; nil if not computed
	alone    []func(class int) []float32
	measured segment.Measurements
}

// last is the map of the last recurrence.
func (m *maps) last(class int) []float32 { return m.recurrence(m.recurrences, class) }

// garbage is the memory that may lie idle before it is collected, in percent of what is in use.
// Maps of a large image come and go, each of tens of megabytes.
const garbage = 40

// scoreAll scores the cases until one fails. The error names that case.
func (s *scorer) scoreAll(ctx context.Context, cases []dataset.Case) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	for _, c := range cases {
		s.progress.Begin()
		if err := s.score(ctx, c); err != nil {
			if problems := (dataset.Problems)(nil); errors.As(err, &problems) {
				return err // it names the files, which have changed since score.CheckImages
			}
			return fmt.Errorf("%s: %w", c.Image, err)
		}
	}
	return nil
}

// score segments one case and keeps its scores. It keeps a whole case or nothing.
func (s *scorer) score(ctx context.Context, c dataset.Case) error {
	s.progress.Show("%s: reading", c.Name)
	l, err := dataset.Load(c)
	if err != nil {
		return err
	}
	scored := &caseScore{Name: c.Name, Folder: c.Folder}
	var m maps
	err = s.session.Do(ctx, func(e *segment.Engine) error {
		m = maps{}
		return s.segment(ctx, e, l, scored, &m)
	})
	if err != nil {
		return err
	}
	if s.Changed {
		if scored.Changed, err = s.changes(ctx, l); err != nil {
			return err
		}
	}
	truths := make([][]uint8, len(s.data.Classes))
	for k, class := range s.data.Classes {
		if truths[k], err = score.ReadTruth(c, class); err != nil {
			return err
		}
	}
	for k, truth := range truths {
		scored.Classes = append(scored.Classes, s.class(l, m, k, truth))
	}
	scored.Ratio = s.ratio(l, m)
	s.cases = append(s.cases, scored)
	if s.sheet != nil {
		offerCase(s.sheet, l, m, scored)
	}
	return nil
}

// masks are the last recurrence's probabilities by class, and whether anything was found.
func (s *scorer) masks(ctx context.Context, l *dataset.Loaded) (masks [][]float32, found bool, err error) {
	err = s.session.Do(ctx, func(e *segment.Engine) error {
		r, err := e.Segment(ctx, l.Image, segment.Options{Recurrences: s.Recurrences, ROI: s.Region})
		if err == nil {
			masks, found = statistics.Tabulate(len(s.data.Classes), r.Probability), r.Found
		}
		return err
	})
	return masks, found, err
}

// segment fills m, and what scored says of the region and of doubts.
func (s *scorer) segment(ctx context.Context, e *segment.Engine, l *dataset.Loaded, scored *caseScore, m *maps) error {
	about := e.Metadata()
	raters := len(about.Raters)
	s.progress.Show("%s: segmenting", l.Name)
	r, err := e.Segment(ctx, l.Image, segment.Options{Recurrences: s.Recurrences, ROI: s.Region})
	if err != nil {
		return err
	}
	scored.judgement, scored.Region, s.adapter, m.measured = trustOf(r), r.ROI, e.Adapter(), r.Measurements
	m.recurrences, m.recurrence = s.Recurrences, r.Recurrence
	if !score.SameRaters(&about, s.data) {
		return nil
	}
	heads := segment.HasHeads(&about) // else the heads were not trained
	if heads {
		m.head = r.Rater
	}
	if about.Labels == weights.LabelsAgreementLevels || !scored.Found || !heads && !r.Steered {
		return nil
	}
	for i := range raters {
		s.progress.Show("%s: all weight to rater %d of %d", l.Name, i+1, raters)
		one := make([]float32, raters)
		one[i] = 1
		if r, err = e.Recalculate(ctx, segment.Options{Recurrences: s.Recurrences, RaterWeights: one}); err != nil {
			return err
		}
		m.alone = append(m.alone, r.Probability)
	}
	return nil
}

// class scores one structure; nil if it has no votes.
func (s *scorer) class(l *dataset.Loaded, m maps, k int, mask []uint8) *classScore {
	target := score.TargetOf(l, k, nil)
	if target == nil {
		return nil
	}
	out := &classScore{Areas: s.areas(l, k)}
	var last []float32
	for i := range m.recurrences + 1 {
		last = m.recurrence(i, k)
		out.SoftDice = append(out.SoftDice, target.SoftDice(last))
		if mask != nil {
			out.Truth = append(out.Truth, score.TargetOf(l, k, mask).Truth(last))
		}
	}
	out.Unmarked = target.Empty()
	out.BothEmpty = out.Unmarked && metric.Area(last) == 0
	s.calibrate(k, last, target)
	out.Agreement = agree(last, target)
	out.Interval = promised(m.measured.Structures[k].Interval, float64(metric.Area(target.Majority)))
	if m.head != nil {
		s.classHeads(out, func(i int) []float32 { return m.head(i, k) }, target, mask, m.alone != nil)
	}
	for i, alone := range m.alone {
		out.Response = append(out.Response, respond(last, alone(k), target.Marks[i], target.Votes))
	}
	return out
}

// classHeads compares the heads of a structure with the marks. It makes one head's map at a time.
func (s *scorer) classHeads(out *classScore, head func(i int) []float32, target *score.Target, truth []uint8, weighed bool) {
	masks, likelihoods := make([]metric.Bits, len(target.Marks)), make([]float64, len(target.Marks))
	places := disputed(target.Marks)
	for i, mark := range target.Marks {
		p := head(i)
		masks[i], likelihoods[i] = metric.Pack(p), likelihood(p, mark, places)
		out.Heads = append(out.Heads, orNull(target.Dices(masks[i])))
		among := make([]*float64, len(target.Marks))
		if mark != nil {
			among = orNull(target.Dices(metric.Pack(mark)))
		}
		out.Raters = append(out.Raters, among)
	}
	if !s.data.Levels {
		out.Set = target.Set(masks)
		if weighed && places != nil {
			out.Marks = weighMarks(likelihoods, target.Marks, truth)
		}
	}
}

// orNull are values with nil in place of NaN.
func orNull(values []float64) []*float64 {
	return statistics.Tabulate(len(values), func(i int) *float64 { return statistics.Defined(values[i]) })
}

func (s *scorer) calibrate(k int, p []float32, target *score.Target) {
	for len(s.calibration) < len(s.data.Classes) {
		s.calibration = append(s.calibration, calibration{metric.NewCalibration(15), metric.NewCalibration(50), metric.NewCalibration(15)})
	}
	c := s.calibration[k]
	target.Calibrate(p, c.union15, c.whole15)
	target.Calibrate(p, c.union50, nil)
}
