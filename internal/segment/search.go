package segment

import (
	"context"
	"slices"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
)

// rival is the share of the first candidate's mass from which the second one gets a closer look.
const rival = 0.25

// sure is the mean probability of a place from which the search does not go on.
const sure = 0.8

// most is the largest side of a place's square in even light, of the field's side.
const most = 0.7

// finding is what a search finds.
type finding struct {
	candidates []roi.Candidate // the chosen one first
	whole      []float32       // the encoder's features of the field
	even       bool            // the places were found in even light alone
	turned     bool            // they were found in the turned image alone
}

// search looks for the anchor in the field of an image, whose pixels are seen (S, S, 3), with the
// finder, if there is one.
func (e *Engine) search(ctx context.Context, q request, field imageio.Square, seen []float32, anchor int) (finding, error) {
	q.Progress("search", 0, 2)
	looks := e
	if e.finder != nil {
		looks, anchor = e.finder, 0
	}
	if err := looks.weigh(nil); err != nil {
		return finding{}, err
	}
	f, err := looks.glance(ctx, q.image, field, seen, anchor)
	if err == nil && looks != e {
		f.whole, err = e.features(ctx, slices.Clone(seen))
	}
	if err != nil {
		return finding{}, err
	}
	q.Progress("search", 1, 2)
	if len(f.candidates) > 1 && f.candidates[1].Mass > rival*f.candidates[0].Mass {
		f.candidates, err = looks.compare(ctx, q.image, f, anchor)
	}
	return f, err
}

// guise is a way to look at the field of a photograph.
type guise struct {
	even     bool // in even light, roi.Even
	quarters int  // turned clockwise by quarter turns
}

// guises are as it is, turned, for a model that has learned from turned photographs, and in even
// light.
func (e *Engine) guises() []guise {
	all := []guise{{}, {quarters: 1}, {quarters: 2}, {quarters: 3}, {even: true}}
	if !e.about.Turned {
		return []guise{all[0], all[4]}
	}
	return all
}

// glance looks at the field as it is. Where that shows no place it turns the field. Where no place
// is sure it looks in even light, and keeps the places of the surer glance.
func (e *Engine) glance(ctx context.Context, img *imageio.Image, field imageio.Square, seen []float32, anchor int) (f finding, err error) {
	best := 0.
	for i, g := range e.guises() {
		if best > sure || g.quarters > 0 && best > 0 {
			continue
		}
		x := slices.Clone(seen)
		if g.even {
			roi.Even(x, e.about.Side)
		}
		places, err := e.candidates(ctx, img, field, turned(x, e.about.Side, g.quarters), g.quarters, anchor)
		if err == nil && i == 0 {
			f.whole, err = e.network.Features(ctx)
		}
		if err != nil {
			return finding{}, err
		}
		if len(places) == 0 || g.even && float64(places[0].Square.Side) > most*float64(field.Side) {
			continue // even light makes discs of clouds
		}
		if places[0].Sure() > best {
			best, f = places[0].Sure(), finding{places, f.whole, g.even, g.quarters > 0}
		}
	}
	return f, nil
}

// features are the encoder's of pixels (S, S, 3).
func (e *Engine) features(ctx context.Context, x []float32) ([]float32, error) {
	if err := e.feed(ctx, x); err != nil {
		return nil, err
	}
	return e.network.Features(ctx)
}

// candidates looks for the anchor on pixels (S, S, 3) of a square of the image, which are turned
// clockwise by quarter turns. The candidates are in pixels of the image.
func (e *Engine) candidates(ctx context.Context, img *imageio.Image, square imageio.Square, x []float32, quarters, anchor int) ([]roi.Candidate, error) {
	if err := e.feed(ctx, x); err != nil {
		return nil, err
	}
	y, err := e.checked(ctx, e.network.Recur)
	if err != nil {
		return nil, err
	}
	p := turned(channel(y, anchor, len(e.about.Classes)), e.about.Side, 4-quarters)
	return roi.Candidates(p, e.about.Side, square, img.W, img.H)
}

// turned returns maps (S, S, channels) turned clockwise by quarter turns.
func turned(maps []float32, side, quarters int) []float32 {
	channels := len(maps) / (side * side)
	for range quarters % 4 {
		maps = imageio.Turn(maps, side, side, channels, 1)
	}
	return maps
}

// compare looks closely at the first two candidates and puts the more probable one first. A lesion
// that looks like a disc from afar often does not from near.
func (e *Engine) compare(ctx context.Context, img *imageio.Image, f finding, anchor int) ([]roi.Candidate, error) {
	places := slices.Clone(f.candidates)
	var sure [2]float64
	for i := range sure {
		near, err := e.candidates(ctx, img, places[i].Square, e.near(img, places[i].Square, f.even), 0, anchor)
		if err != nil {
			return nil, err
		}
		if len(near) > 0 {
			sure[i] = near[0].Mass / max(near[0].Area, places[i].Area) // mean probability; less if the place shrank
		}
	}
	if sure[1] > sure[0] {
		places[0], places[1] = places[1], places[0]
	}
	return places, nil
}
