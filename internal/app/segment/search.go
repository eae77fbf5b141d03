package segment

import (
	"context"
	"fmt"
	"slices"

	"mrprism/internal/data/imageio"
	"mrprism/internal/data/roi"
)

// rival is the share of the first candidate's mass from which the second one gets a closer look.
const rival = 0.25

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
		if v.places, err = e.search(ctx, v, v.field, 0, anchor, "whole"); err != nil {
			return err
		}
		for quarters := 1; quarters < 4 && len(v.places) == 0 && e.about.Turned; quarters++ {
			v.turned = true
			if v.places, err = e.search(ctx, v, v.field, quarters, anchor, ""); err != nil {
				return err
			}
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

// search looks for the anchor on a square of the image, turned clockwise by quarter turns. The
// candidates are in pixels of the image that is not turned. If name is not empty, the view keeps
// the encoder's features under it.
func (e *Engine) search(ctx context.Context, v *view, square imageio.Square, quarters, anchor int, name string) ([]roi.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	side := e.about.Side
	if err := e.feed(ctx, turned(e.crop(v.image, square), side, quarters)); err != nil {
		return nil, err
	}
	if name != "" {
		if err := e.look(ctx, v, name); err != nil {
			return nil, err
		}
	}
	y, err := e.checked(ctx, e.network.Recur)
	if err != nil {
		return nil, err
	}
	p := turned(channel(y, anchor, len(e.about.Classes)), side, 4-quarters)
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
		near, err := e.search(ctx, v, place.Square, 0, anchor, "")
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
