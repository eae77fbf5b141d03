package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
)

// centreScore judges one photograph of -centres in one guise.
type centreScore struct {
	Set  string `json:"set"` // the CSV
	Name string `json:"name"`
	guise
	Present bool `json:"present"` // the CSV says that the structure is in the photograph
	// Distance: of the mask's centroid from the circle's centre, in radii; absent without a mask or a
	// circle
	Distance *float64 `json:"distance,omitempty"`
	// Area: of the mask, in areas of the circle; absent without a circle
	Area  *float64 `json:"area,omitempty"`
	Right bool     `json:"right"`
	Ratio *float64 `json:"verticalRatio"` // of the cup to the disc; null without one
	judgement
}

// silent reports whether the result is wrong and not doubted.
func (c *centreScore) silent() bool { return !c.Right && !c.Doubted }

// judgeCentres judges the photographs of all CSVs until one fails.
func (s *scorer) judgeCentres(ctx context.Context, albums []*album) error {
	return s.judge(ctx, albums, s.guises, func(v shownPhotograph, r *segment.Result) {
		score := &centreScore{Set: v.album.name, Name: v.name, guise: v.guise, Ratio: verticalRatio(r)}
		score.judge(r, s.anchor(), v.circle)
		if s.sheet != nil && v.Change == "" {
			offerCentre(s.sheet, v.image, r, score, v.circle)
		}
		s.centred = append(s.centred, score)
	})
}

// guises shows a photograph as it is, turned under -turned, and under every change of -changed.
func (r *Request) guises(v shownPhotograph) iter.Seq[shownPhotograph] {
	return func(yield func(shownPhotograph) bool) {
		upright := v
		if !yield(v) {
			return
		}
		for i := 0; i < 3 && r.Turned; i++ {
			if v = v.quarter(); !yield(v) {
				return
			}
		}
		for i := 0; i < len(Changes) && r.Changed; i++ {
			if !yield(Changes[i].view(upright)) {
				return
			}
		}
	}
}

// looks is the number of times that the program judges a photograph.
func (r *Request) looks() int {
	n := 1
	if r.Turned {
		n += 3
	}
	if r.Changed {
		n += len(Changes)
	}
	return n
}

// anchor is the class that the model searches photographs for; -1 without one.
func (s *scorer) anchor() int {
	about := &s.session.Model.Metadata
	return slices.Index(about.Classes, about.Anchor)
}

// judge compares the anchor's mask with the circle, in pixels. The circle is nil if the structure
// is absent.
func (c *centreScore) judge(r *segment.Result, anchor int, at *circle) {
	c.judgement, c.Present = trustOf(r), at != nil
	if at == nil {
		c.Right = !r.Found
		return
	}
	distance, area := at.compare(r.Probability(anchor), r.Width)
	c.Distance, c.Area = statistics.Defined(distance), &area
	c.Right = right(distance, area)
}

// right judges a mask by the distance of its centroid in radii, and by its area in areas of the
// circle. A distance of NaN is wrong.
func right(distance, area float64) bool {
	return distance <= farthest && area >= smallest && area <= largest
}

// wrong says why a result is wrong.
func (c *centreScore) wrong() string {
	switch {
	case !c.Present:
		return "it is absent, and something was found"
	case c.Distance == nil:
		return "it is present, and nothing was found"
	}
	return fmt.Sprintf("the centroid lies %.2f radii from the centre, and the area is %.2f times the circle's", *c.Distance, *c.Area)
}

type centresReport struct {
	Anchor   string        `json:"anchor"`
	Sets     []tally       `json:"sets"`            // a row for each set and guise
	Together []tally       `json:"together"`        // a row for each guise
	Words    []wordsReport `json:"trust,omitempty"` // over all photographs as they are
	Steady   *steadyReport `json:"ratioUnderExposure,omitempty"`
	// Of: pictures, if the program was stopped before it judged all
	Of       int            `json:"of,omitempty"`
	Pictures []*centreScore `json:"pictures"`
}

// tally is one row: a set, or all of them, in one guise.
type tally struct {
	Set string `json:"set,omitempty"` // the CSV; empty: all
	guise
	Images       int              `json:"images"`
	Right        statistics.Share `json:"right"`
	RightDoubted statistics.Share `json:"rightDoubted"`
	WrongDoubted statistics.Share `json:"wrongDoubted"`
	Silent       statistics.Share `json:"silentlyWrong"` // wrong and not doubted
}

// centresReport gathers the judgements; nil without -centres.
func (s *scorer) centresReport(albums []*album) *centresReport {
	if len(albums) == 0 {
		return nil
	}
	out := &centresReport{
		Anchor: s.session.Model.Metadata.Anchor, Together: s.tallies(""), Pictures: s.centred,
		Of: unfinished(len(s.centred), s.looks()*photographs(albums)),
	}
	plain := statistics.Filter(s.centred, func(c *centreScore) bool { return c.guise == guise{} })
	out.Words = wordsOf(statistics.Tabulate(len(plain), func(i int) *judgement { return &plain[i].judgement }), s.session.Model.Metadata.Classes)
	if s.Changed {
		out.Steady = steadyRatios(s.centredEyes())
	}
	for _, a := range albums {
		out.Sets = append(out.Sets, s.tallies(a.name)...)
	}
	return out
}

// tallies has a row for each guise of one set, or of all sets if the name is empty.
func (s *scorer) tallies(set string) (rows []tally) {
	in := statistics.Filter(s.centred, func(c *centreScore) bool { return set == "" || c.Set == set })
	for _, c := range in {
		if slices.ContainsFunc(rows, func(row tally) bool { return row.guise == c.guise }) {
			continue
		}
		of := statistics.Filter(in, func(other *centreScore) bool { return other.guise == c.guise })
		rows = append(rows, tally{
			Set: set, guise: c.guise, Images: len(of),
			Right:        statistics.ShareOf(of, func(c *centreScore) bool { return c.Right }),
			RightDoubted: statistics.ShareOf(of, func(c *centreScore) bool { return c.Right && c.Doubted }),
			WrongDoubted: statistics.ShareOf(of, func(c *centreScore) bool { return !c.Right && c.Doubted }),
			Silent:       statistics.ShareOf(of, (*centreScore).silent),
		})
	}
	return rows
}

// centres prints the rows, and names every result that is silently wrong.
func (t *table) centres(r *centresReport) {
	t.Title("Photographs with the centre of the %s", r.Anchor)
	t.stopped(r.Of)
	t.Line("\timages\tright\tright and doubted\twrong and doubted\tsilently wrong")
	rows := r.Sets
	if slices.ContainsFunc(rows, func(row tally) bool { return row.Set != rows[0].Set }) {
		rows = slices.Concat(rows, r.Together)
	}
	for _, row := range rows {
		t.Line("%s\t%d\t%v\t%v\t%v\t%v", row.Label(cmp.Or(row.Set, "together")), row.Images, row.Right, row.RightDoubted, row.WrongDoubted, row.Silent)
	}
	t.Break()
	t.words(" of these photographs", r.Words)
	report.IfAny(r.Steady, t.steady)
	for _, c := range r.Pictures {
		if c.silent() {
			t.Line("silently wrong: %s: %s", c.Label(c.Name+" of "+c.Set), c.wrong())
		}
	}
}
