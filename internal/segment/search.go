package segment

import (
	"context"
	"fmt"
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

// region sets v.square, the square to segment. It sets v.found to false where the model searches
// the image and finds nothing.
func (e *Engine) region(ctx context.Context, v *view, request roi.Request, o Options) (err error) {
	v.square = imageio.Letterbox(v.image.W, v.image.H)
	v.field, v.found = v.square, true
	anchor := slices.Index(e.about.Classes, e.about.Anchor)
	if anchor >= 0 {
		v.field = roi.Field(v.image)
	}
	whole := e.crop(v.image, v.field)
	v.detail, v.sharpness = detail(whole, e.about.Side), sharpness(whole, e.about.Side)
	switch {
	case request.Mode == roi.Given:
		v.square = request.Square
		return nil
	case request.Mode == roi.None || anchor < 0:
		return nil
	}
	v.took["search"], err = timed(func() error {
		o.Progress("search", 0, 2)
		if err := e.network.SetRaterWeights(nil); err != nil {
			return err
		}
		if err := e.glance(ctx, v, anchor); err != nil {
			return err
		}
		o.Progress("search", 1, 2)
		if len(v.places) > 1 && v.places[1].Mass > rival*v.places[0].Mass {
			return e.compare(ctx, v, anchor)
		}
		return nil
	})
	if v.found = len(v.places) > 0; err == nil && v.found {
		v.square = v.places[0].Square
	}
	return err
}

// guise is a way to look at the field of a photograph.
type guise struct {
	name     string // if not empty, the view keeps the encoder's features under it
	even     bool   // in even light, roi.Even
	quarters int    // turned clockwise by quarter turns
}

// guises are as it is, turned, for a model that has learned from turned photographs, and in even
// light.
func (e *Engine) guises() []guise {
	all := []guise{{name: "whole"}, {quarters: 1}, {quarters: 2}, {quarters: 3}, {even: true}}
	if !e.about.Turned {
		return []guise{all[0], all[4]}
	}
	return all
}

// glance looks at the field as it is. Where that shows no place it turns the field. Where no place
// is sure it looks in even light, and keeps the places of the surer glance.
func (e *Engine) glance(ctx context.Context, v *view, anchor int) error {
	best := 0.
	for _, g := range e.guises() {
		if best > sure || g.quarters > 0 && best > 0 {
			continue
		}
		x := e.crop(v.image, v.field)
		if g.even {
			roi.Even(x, e.about.Side)
		}
		places, err := e.search(ctx, v, v.field, x, g, anchor)
		if err != nil {
			return err
		}
		if len(places) == 0 || g.even && float64(places[0].Square.Side) > most*float64(v.field.Side) {
			continue // even light makes discs of clouds
		}
		if places[0].Sure() > best {
			best, v.places, v.even, v.turned = places[0].Sure(), places, g.even, g.quarters > 0
		}
	}
	return nil
}

// search looks for the anchor on pixels (S, S, 3) of a square of the image. The candidates are in
// pixels of the image.
func (e *Engine) search(ctx context.Context, v *view, square imageio.Square, x []float32, g guise, anchor int) ([]roi.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	side := e.about.Side
	if err := e.feed(ctx, turned(x, side, g.quarters)); err != nil {
		return nil, err
	}
	if g.name != "" {
		if err := e.look(ctx, v, g.name); err != nil {
			return nil, err
		}
	}
	y, err := e.checked(ctx, e.network.Recur)
	if err != nil {
		return nil, err
	}
	p := turned(channel(y, anchor, len(e.about.Classes)), side, 4-g.quarters)
	return roi.Candidates(p, side, square, v.image.W, v.image.H)
}

// turned returns maps (S, S, channels) turned clockwise by quarter turns.
func turned(maps []float32, side, quarters int) []float32 {
	channels := len(maps) / (side * side)
	for range quarters % 4 {
		maps = imageio.Turn(maps, side, side, channels)
	}
	return maps
}

// compare looks closely at the first two candidates and puts the more probable one first. A lesion
// that looks like a disc from afar often does not from near.
func (e *Engine) compare(ctx context.Context, v *view, anchor int) error {
	var sure [2]float64
	for i := range sure {
		place := v.places[i]
		near, err := e.search(ctx, v, place.Square, e.near(v, place.Square), guise{}, anchor)
		if err != nil {
			return err
		}
		if len(near) > 0 {
			sure[i] = near[0].Mass / max(near[0].Area, place.Area) // mean probability; less if the place shrank
		}
	}
	if sure[1] > sure[0] {
		v.places[0], v.places[1] = v.places[1], v.places[0]
	}
	return nil
}

// look keeps the features of the encoder's last input.
func (e *Engine) look(ctx context.Context, v *view, name string) error {
	features, err := e.network.Features(ctx)
	if err != nil {
		return fmt.Errorf("features: %w", err)
	}
	if v.looks == nil {
		v.looks = map[string][]float32{}
	}
	v.looks[name] = features
	return nil
}
