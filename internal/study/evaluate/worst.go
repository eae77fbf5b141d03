package evaluate

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/study/picture"
	"mrprism/weights"
)

// contactSheet gathers the worst results for -worst.
type contactSheet struct {
	model   string // its title
	classes []string
	ranked  int           // the class that ranks the images of -data
	data    picture.Worst // of -data
	centres picture.Worst // of -centres
}

// newSheet is an empty sheet for the model; nil without -worst.
func (s *scorer) newSheet() *contactSheet {
	if s.Worst == "" {
		return nil
	}
	m := s.session.Model
	return &contactSheet{model: m.Label(), classes: m.Metadata.Classes, ranked: rankedClass(&m.Metadata)}
}

// checkSheet returns an error if nobody has marked the class by which -worst ranks the images of
// -data.
func (r *Request) checkSheet(in *input, m *weights.Model) error {
	if r.Worst == "" || r.Centres != "" {
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
func offerCase(s *contactSheet, l *dataset.Loaded, m maps, score *caseScore) {
	ranked := score.Classes[s.ranked]
	if ranked == nil {
		return
	}
	dice := ranked.SoftDice[len(ranked.SoftDice)-1]
	s.data.Offer(picture.Rank{Figure: -dice}, func() *picture.Cell {
		p := picture.NewPicture(l.Image)
		for k := range s.classes {
			p.Result(k, p.Trace(m.last(k), l.Image.W, l.Image.H, 0, 0))
		}
		for k := range s.classes {
			if votes, ok := l.Votes(k); ok {
				p.Truth(p.Trace(votes.Mean(), l.Image.W, l.Image.H, 0, 0))
			}
		}
		figure := fmt.Sprintf("soft Dice %.1f", 100*dice)
		if !score.Found {
			figure = notFound
		}
		return &picture.Cell{Name: score.Name, Figure: figure, Frame: frame(dice < lowDice, score.Doubted), Picture: p.RGBA}
	})
}

// notFound is the figure of a result that found nothing.
const notFound = "not found"

// offerCentre offers a photograph of -centres. The circle is in pixels, and nil if the structure is
// absent.
func offerCentre(s *contactSheet, img *imageio.Image, r *segment.Result, score *centreScore, at *circle) {
	s.centres.Offer(score.rank(), func() *picture.Cell {
		p := picture.NewPicture(img)
		part, x, y := r.Within()
		for k := range s.classes {
			p.Result(k, p.Trace(part.Probability(k), part.Width, part.Height, x, y))
		}
		if at != nil {
			p.Truth([][]picture.Point{p.Circle(at.x, at.y, at.r)})
		}
		return &picture.Cell{Name: score.Name, Turned: score.Turned, Figure: score.figure(), Frame: frame(!score.Right, score.Doubted), Picture: p.RGBA}
	})
}

// rank puts silently wrong results first, then wrong results with a doubt, then right results. A
// wrong result without a distance comes first in its group.
func (c *centreScore) rank() picture.Rank {
	r := picture.Rank{}
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
