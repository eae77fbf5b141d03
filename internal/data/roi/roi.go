// Package roi decides which square of a photograph the network looks at closely.
//
// The network first sees the whole lit part of a photograph (Field), at S×S pixels. If that shows
// nothing for sure, it sees the same in even light (Even). Candidates then finds regions from the
// probability of the anchor: one for each 8-connected component above one half. The region is a
// square around the centre of the component's bounding box, with twice the box's longer side,
// rounded to whole pixels of the photograph. The square may reach beyond the photograph, whose edge
// pixels then continue: the structure is always in the middle, as in training. If the square would
// be as large as the letterbox, the letterbox is the region, since a second look would show nothing
// new.
package roi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/files/imageio"
)

// Margin is the side of the region / the size of the structure.
const Margin = 2

// Candidate is a place where the structure may be.
type Candidate struct {
	Square imageio.Square // to look at closely
	X, Y   float64        // centroid, pixels of the image
	Area   float64        // pixels of the image
	Mass   float64        // sum of the probabilities above one half, as pixels of the image
}

// Sure is the mean probability of the candidate's pixels.
func (c Candidate) Sure() float64 { return c.Mass / c.Area }

// Candidates finds the regions from p (s, s), the probability of the anchor on the square seen of
// an image of w×h pixels. There is one for each piece above one half, the largest first. A value of
// p outside 0..1 is an error.
func Candidates(p []float32, s int, seen imageio.Square, w, h int) ([]Candidate, error) {
	if s <= 0 || len(p) != s*s || w <= 0 || h <= 0 {
		panic(fmt.Sprintf("roi: Candidates: %d values for %d², image %d×%d", len(p), s, w, h))
	}
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("the probability at x %d, y %d is %v", i%s, i/s, v)
		}
	}
	scale := float64(seen.Side) / float64(s)
	p = shown(p, s, scale, seen, w, h)
	pieces := Pieces(p, s, 0.5)
	slices.SortStableFunc(pieces, func(a, b []int) int { return len(b) - len(a) })
	var found []Candidate
	for _, piece := range pieces {
		found = append(found, candidate(p, s, piece, seen, scale, imageio.Letterbox(w, h)))
	}
	return found, nil
}

// candidate makes the candidate of a piece.
func candidate(p []float32, s int, piece []int, seen imageio.Square, scale float64, whole imageio.Square) Candidate {
	b := box{s, s, 0, 0}
	var c Candidate
	for _, at := range piece {
		x, y := at%s, at/s
		b = box{min(b.x0, x), min(b.y0, y), max(b.x1, x+1), max(b.y1, y+1)}
		c.X, c.Y, c.Mass = c.X+float64(x)+.5, c.Y+float64(y)+.5, c.Mass+float64(p[at])
	}
	n := float64(len(piece))
	c.X, c.Y = float64(seen.X)+c.X/n*scale, float64(seen.Y)+c.Y/n*scale
	c.Area, c.Mass = n*scale*scale, c.Mass*scale*scale
	side := max(1, int(math.Round(Margin*float64(max(b.x1-b.x0, b.y1-b.y0))*scale)))
	if c.Square = whole; side < whole.Side {
		c.Square = imageio.Square{
			X:    int(math.Round(float64(seen.X) + float64(b.x0+b.x1)/2*scale - float64(side)/2)),
			Y:    int(math.Round(float64(seen.Y) + float64(b.y0+b.y1)/2*scale - float64(side)/2)),
			Side: side,
		}
	}
	return c
}

// shown returns p with 0 at the pixels that lie wholly outside the image, where the square only
// repeats the image's edge.
func shown(p []float32, s int, scale float64, whole imageio.Square, w, h int) []float32 {
	beside := func(i, origin, extent int) bool {
		from := float64(origin) + float64(i)*scale
		return from+scale <= 0 || from >= float64(extent)
	}
	kept := slices.Clone(p)
	for i := range kept {
		if beside(i%s, whole.X, w) || beside(i/s, whole.Y, h) {
			kept[i] = 0
		}
	}
	return kept
}

// box is half open: pixels x0 ≤ x < x1.
type box struct{ x0, y0, x1, y1 int }

// Mode says how the region is chosen.
type Mode int

// The modes.
const (
	Auto  Mode = iota // search the whole image for the anchoring structure
	None              // segment the whole image, letterboxed
	Given             // the square the user gave
)

// Request is the region that the user asks for.
type Request struct {
	Mode   Mode
	Square imageio.Square // of mode Given, in pixels of the displayed image
}

// Parse reads "auto", "none" or "x,y,side" in whole pixels.
func Parse(text string) (Request, error) {
	switch text {
	case "auto":
		return Request{Mode: Auto}, nil
	case "none":
		return Request{Mode: None}, nil
	}
	parts := strings.Split(text, ",")
	var v [3]int
	valid := len(parts) == len(v)
	for i := 0; valid && i < len(v); i++ {
		n, err := strconv.Atoi(strings.TrimSpace(parts[i]))
		v[i], valid = n, err == nil
	}
	if !valid || v[2] < 1 {
		return Request{}, fmt.Errorf("region %q: want auto, none or x,y,side in whole pixels, side at least 1", text)
	}
	return Request{Mode: Given, Square: imageio.Square{X: v[0], Y: v[1], Side: v[2]}}, nil
}

// Check refuses a square that shares no pixel with a w×h image, or is more than Margin times as
// large as the letterbox.
func Check(sq imageio.Square, w, h int) error {
	limit := Margin * max(w, h)
	if sq.Side < 1 || sq.Side > limit || sq.X >= w || sq.Y >= h || sq.X <= -sq.Side || sq.Y <= -sq.Side {
		return fmt.Errorf("region %d,%d,%d does not fit this image of %d×%d pixels: it must overlap the image, with a side of 1 to %d",
			sq.X, sq.Y, sq.Side, w, h, limit)
	}
	return nil
}
