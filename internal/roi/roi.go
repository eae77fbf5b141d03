// Package roi decides which square of a photograph the network looks at closely.
//
// A photograph is first seen whole, letterboxed to S×S. The region is then found from the probability of the anchoring structure:
// the largest 8-connected component above one half, its bounding box brought to the photograph's pixels, and around the centre of
// that box the square of twice the box's longer side. Side and corner are rounded to whole pixels. The square is not moved to lie
// inside the photograph (the image's edge continues it), so the structure is always in its middle, as in training. Where the
// square would be at least as large as the letterbox there is nothing to gain from a second look, and the letterbox itself is the
// region.
package roi

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/imageio"
)

// ErrNotFound says that no structure was found in the whole photograph; the region must be given by hand.
var ErrNotFound = errors.New("the structure was not found in this image")

// Margin is the side of the region over the size of the structure.
const Margin = 2

// Locate finds the region from p (s, s), the probability of the anchoring structure on the letterboxed whole image of w×h pixels.
// It returns ErrNotFound where nothing on the image is above one half, and another error where p is not a map of probabilities.
func Locate(p []float32, s, w, h int) (imageio.Square, error) {
	if s <= 0 || len(p) != s*s || w <= 0 || h <= 0 {
		panic(fmt.Sprintf("roi: Locate: %d values for %d², image %d×%d", len(p), s, w, h))
	}
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return imageio.Square{}, fmt.Errorf("the probability at x %d, y %d is %v", i%s, i/s, v)
		}
	}
	whole := imageio.Letterbox(w, h)
	scale := float64(whole.Side) / float64(s)
	b, found := largest(shown(p, s, scale, whole, w, h), s)
	if !found {
		return imageio.Square{}, ErrNotFound
	}
	side := max(1, int(math.Round(Margin*float64(max(b.x1-b.x0, b.y1-b.y0))*scale)))
	if side >= whole.Side {
		return whole, nil
	}
	return imageio.Square{
		X:    int(math.Round(float64(whole.X) + float64(b.x0+b.x1)/2*scale - float64(side)/2)),
		Y:    int(math.Round(float64(whole.Y) + float64(b.y0+b.y1)/2*scale - float64(side)/2)),
		Side: side,
	}, nil
}

// shown is p without those of its pixels that lie wholly beside the image, where the letterbox continues its edge: nothing there has been seen.
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

// largest is the bounding box of the largest piece of p > 0.5; of equals the first in reading order.
func largest(p []float32, s int) (best box, found bool) {
	most := 0
	for _, piece := range Pieces(p, s, 0.5) {
		if len(piece) <= most {
			continue
		}
		most, best = len(piece), box{s, s, 0, 0}
		for _, at := range piece {
			x, y := at%s, at/s
			best = box{min(best.x0, x), min(best.y0, y), max(best.x1, x+1), max(best.y1, y+1)}
		}
	}
	return best, most > 0
}

// Mode says how the region is chosen.
type Mode int

// The modes.
const (
	Auto  Mode = iota // search the whole image for the anchoring structure
	None              // segment the whole image, letterboxed
	Given             // the square the user gave
)

// Request is the user's wish for a region.
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

// Check refuses a square that shares no pixel with a w×h image or is more than Margin times as large as its letterbox.
func Check(sq imageio.Square, w, h int) error {
	limit := Margin * max(w, h)
	if sq.Side < 1 || sq.Side > limit || sq.X >= w || sq.Y >= h || sq.X <= -sq.Side || sq.Y <= -sq.Side {
		return fmt.Errorf("region %d,%d,%d does not fit this image of %d×%d pixels: it must overlap it, with a side of 1 to %d",
			sq.X, sq.Y, sq.Side, w, h, limit)
	}
	return nil
}
