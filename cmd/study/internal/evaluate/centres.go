package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
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
func (s *study) judgeCentres(ctx context.Context) error {
	about := &s.session.Model.Metadata
	anchor := slices.Index(about.Classes, about.Anchor)
	return s.judge(ctx, s.centres, s.guises, func(v shownPhotograph, r *segment.Result) error {
		c := &centreScore{Set: v.album.name, Name: v.name, guise: v.guise, Ratio: verticalRatio(r)}
		c.judge(r, anchor, v.circle)
		s.centred = append(s.centred, c)
		if v.Change != "" {
			return nil
		}
		return s.farthest.Offer(c.rank(), func() (report.Exhibit, error) { return c.exhibit(v, r) })
	})
}

// exhibit shows the outlines of the result and the circle.
func (c *centreScore) exhibit(v shownPhotograph, r *segment.Result) (report.Exhibit, error) {
	p := picture.NewPicture(v.image)
	part, x, y := r.Within()
	for k := range r.Classes {
		display.Result(p, k, p.Trace(part.Probability(k), part.Width, part.Height, x, y))
	}
	if v.circle != nil {
		display.Truth(p, [][]picture.Point{display.Circle(p, v.circle.x, v.circle.y, v.circle.r)})
	}
	said := c.wrong()
	switch {
	case c.Right:
		said = "right"
		if c.Distance != nil {
			said = fmt.Sprintf("right, %.2f radii from the centre", *c.Distance)
		}
	case !c.Doubted:
		said = "silently wrong: " + said
	}
	if c.Doubted {
		said += "; doubted"
	}
	shot, err := report.NewShot("", said, p.RGBA)
	return report.Exhibit{Name: c.Label(c.Name + " of " + c.Set), Shots: []report.Shot{shot}}, err
}

// rank puts silently wrong results first, then wrong results with a doubt, then right results. A
// wrong result without a distance comes first in its group.
func (c *centreScore) rank() (r display.Rank) {
	switch {
	case c.silent():
		r.Group = 2
	case !c.Right:
		r.Group = 1
	}
	switch {
	case c.Distance != nil:
		r.Figure = *c.Distance
	case !c.Right:
		r.Figure = math.Inf(1)
	}
	return r
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
func (s *study) centresReport() *centresReport {
	if len(s.centres) == 0 {
		return nil
	}
	about := &s.session.Model.Metadata
	out := &centresReport{Anchor: about.Anchor, Together: s.tallies(""), Pictures: s.centred, Of: unfinished(len(s.centred), s.looks()*photographs(s.centres))}
	plain := statistics.Filter(s.centred, func(c *centreScore) bool { return c.guise == guise{} })
	out.Words = wordsOf(statistics.Tabulate(len(plain), func(i int) *judgement { return &plain[i].judgement }), about.Classes)
	if s.Changed {
		out.Steady = steadyRatios(s.centredEyes())
	}
	for _, a := range s.centres {
		out.Sets = append(out.Sets, s.tallies(a.name)...)
	}
	return out
}

// tallies has a row for each guise of one set, or of all sets if the name is empty.
func (s *study) tallies(set string) (rows []tally) {
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

// part has the rows, and names every result that is silently wrong.
func (r *centresReport) part() report.Part {
	t := report.Table{
		Title:   "Photographs with the centre of the " + r.Anchor + stopped(r.Of),
		Columns: report.Columns("", "images", "right", "right and doubted", "wrong and doubted", "silently wrong"),
	}
	rows := r.Sets
	if slices.ContainsFunc(rows, func(row tally) bool { return row.Set != rows[0].Set }) {
		rows = slices.Concat(rows, r.Together)
	}
	for _, row := range rows {
		t.Add(row.Label(cmp.Or(row.Set, "together")), row.Images, row.Right, row.RightDoubted, row.WrongDoubted, row.Silent)
	}
	p := report.Part{Title: "Photographs with a known place", Tables: []report.Table{t}}
	p.Tables = append(p.Tables, wordsTables(" of these photographs", r.Words)...)
	p.Tables = append(p.Tables, r.Steady.tables()...)
	silent := report.Table{Title: "Silently wrong", Columns: report.Columns("photograph", "why")}
	for _, c := range r.Pictures {
		if c.silent() {
			silent.Add(c.Label(c.Name+" of "+c.Set), c.wrong())
		}
	}
	if len(silent.Rows) > 0 {
		p.Tables = append(p.Tables, silent)
	}
	return p
}
