package main

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// sheet gathers the worst results for -worst.
type sheet struct {
	model   string // its title
	classes []string
	ranked  int   // the class that ranks the images of -data
	data    worst // of -data
	centres worst // of -centres
}

// newSheet is an empty sheet for the model; nil without -worst.
func (s *scorer) newSheet() *sheet {
	if s.worst == "" {
		return nil
	}
	m := s.session.Model
	return &sheet{model: m.Label(), classes: m.Metadata.Classes, ranked: rankedClass(&m.Metadata)}
}

// checkSheet returns an error if nobody has marked the class by which -worst ranks the images of
// -data.
func (r *request) checkSheet(in *input, m *weights.Model) error {
	if r.worst == "" || r.centres != "" {
		return nil
	}
	ranked := rankedClass(&m.Metadata)
	for _, c := range in.cases {
		if slices.ContainsFunc(c.Masks, func(masks []string) bool { return masks[ranked] != "" }) {
			return nil
		}
	}
	return fmt.Errorf("nobody has marked the %s in the images of -data, and -worst ranks them by it: leave -worst out", m.Metadata.Classes[ranked])
}

// rankedClass is the model's anchor, or its first class without an anchor.
func rankedClass(about *weights.Metadata) int {
	return max(0, slices.Index(about.Classes, about.Anchor))
}

// most is the number of results in a block of the sheet.
const most = 10

// worst keeps the cells of the worst results, the worst first. Its memory does not grow with the
// number of results.
type worst struct {
	cells   []*cell
	offered int
}

// cell is one result on the sheet.
type cell struct {
	rank
	name    string
	turned  int    // degrees, clockwise
	figure  string // in ASCII, as the sheet's font has no other letters
	frame   color.RGBA
	picture *image.RGBA
}

// rank says how bad a result is. A greater group is worse; within a group a greater figure is
// worse.
type rank struct {
	group  int
	figure float64
}

// compare orders ranks, the worst first.
func (r rank) compare(other rank) int {
	return cmp.Or(cmp.Compare(other.group, r.group), cmp.Compare(other.figure, r.figure))
}

// offer draws a result and keeps it if it is among the worst until now. Of two results of equal
// rank it keeps the earlier.
func (w *worst) offer(r rank, draw func() *cell) {
	w.offered++
	if len(w.cells) == most && r.compare(w.cells[most-1].rank) >= 0 {
		return
	}
	c := draw()
	c.rank = r
	w.cells = append(w.cells, c)
	slices.SortStableFunc(w.cells, func(a, b *cell) int { return a.compare(b.rank) })
	w.cells = w.cells[:min(most, len(w.cells))]
}

// Colours of the frames.
var (
	red   = color.RGBA{230, 46, 46, 255}   // wrong and not doubted
	amber = color.RGBA{255, 176, 0, 255}   // doubted
	grey  = color.RGBA{110, 116, 124, 255} // neither
)

// frame is the colour of a result's frame.
func frame(wrong, doubted bool) color.RGBA {
	switch {
	case doubted:
		return amber
	case wrong:
		return red
	}
	return grey
}

// lowDice is the soft Dice below which a result counts as wrong.
const lowDice = .5

// offerCase offers an image of -data in which somebody has marked the ranked class.
func offerCase(s *sheet, l *dataset.Loaded, m maps, score *caseScore) {
	ranked := score.Classes[s.ranked]
	if ranked == nil {
		return
	}
	dice := ranked.SoftDice[len(ranked.SoftDice)-1]
	s.data.offer(rank{figure: -dice}, func() *cell {
		p := newPicture(l.Image)
		for k := range s.classes {
			p.result(k, p.trace(m.last(k), l.Image.W, l.Image.H, 0, 0))
		}
		for k := range s.classes {
			if votes, ok := l.Votes(k); ok {
				p.truth(p.trace(votes.Mean(), l.Image.W, l.Image.H, 0, 0))
			}
		}
		figure := fmt.Sprintf("soft Dice %.1f", 100*dice)
		if !score.Found {
			figure = notFound
		}
		return &cell{name: score.Name, figure: figure, frame: frame(dice < lowDice, score.Doubted), picture: p.RGBA}
	})
}

// notFound is the figure of a result that found nothing.
const notFound = "not found"

// offerCentre offers a photograph of -centres. The circle is in pixels, and nil if the structure is
// absent.
func offerCentre(s *sheet, img *imageio.Image, r *segment.Result, score *centreScore, at *circle) {
	s.centres.offer(score.rank(), func() *cell {
		p := newPicture(img)
		part, x, y := r.Within()
		for k := range s.classes {
			p.result(k, p.trace(part.Probability(k), part.Width, part.Height, x, y))
		}
		if at != nil {
			p.truth([][]point{p.circle(at.x, at.y, at.r)})
		}
		return &cell{name: score.Name, turned: score.Turned, figure: score.figure(), frame: frame(!score.Right, score.Doubted), picture: p.RGBA}
	})
}

// rank puts silently wrong results first, then wrong results with a doubt, then right results. A
// wrong result without a distance comes first in its group.
func (c *centreScore) rank() rank {
	r := rank{}
	switch {
	case c.silent():
		r.group = 2
	case !c.Right:
		r.group = 1
	}
	switch {
	case c.Distance != nil:
		r.figure = *c.Distance
	case !c.Right:
		r.figure = math.Inf(1)
	}
	return r
}

// figure describes the result in a few words of ASCII.
func (c *centreScore) figure() string {
	switch {
	case !c.Present && c.Right:
		return "absent, not found"
	case !c.Present:
		return "absent, but found"
	case c.Distance == nil:
		return notFound
	case *c.Distance <= farthest && !c.Right:
		return fmt.Sprintf("%.2f r away, area x %.2f", *c.Distance, *c.Area)
	}
	return fmt.Sprintf("%.2f r away", *c.Distance)
}
