//go:build js

package main

import (
	"fmt"
	"syscall/js"

	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/wasm/overlay"
)

// result finds the result a message asks about.
func (s *session) result(message js.Value) (*segment.Result, error) {
	id := message.Get("id").Int()
	for _, r := range s.results {
		if r.id == id {
			return r.res, nil
		}
	}
	return nil, fault{Code: "gone", Message: "That result is no longer in memory.", Next: "Segment the image again."}
}

// values makes the map a message asks for, (Height, Width), 0…1.
func values(r *segment.Result, message js.Value) ([]float32, error) {
	index := func(name string, n int) (int, error) {
		v := message.Get(name)
		if v.Type() != js.TypeNumber || v.Int() < 0 || v.Int() >= n {
			return 0, fmt.Errorf("%s is not a number from 0 to %d", name, n-1)
		}
		return v.Int(), nil
	}
	class, err := index("class", len(r.Classes))
	if err != nil {
		return nil, err
	}
	switch kind := message.Get("kind").String(); kind {
	case "probability":
		return r.Probability(class), nil
	case "disagreement":
		return r.Disagreement(class), nil
	case "rater":
		m, err := index("m", len(r.Raters))
		if err != nil {
			return nil, err
		}
		return r.Rater(m, class), nil
	case "recurrence":
		i, err := index("i", r.Recurrences+1)
		if err != nil {
			return nil, err
		}
		return r.Recurrence(i, class), nil
	default:
		return nil, fmt.Errorf("unknown map %q", kind)
	}
}

// postMap answers "map".
func (s *session) postMap(message js.Value) error {
	r, err := s.result(message)
	if err != nil {
		return err
	}
	v, err := values(r, message)
	if err != nil {
		return err
	}
	floats := floatsToJS(v)
	post(map[string]any{"type": "map", "request": message.Get("request"), "values": floats}, floats)
	return nil
}

// postView answers "view".
func (s *session) postView(message js.Value) error {
	r, err := s.result(message)
	if err != nil {
		return err
	}
	r, x, y := r.Within()
	v, err := values(r, message)
	if err != nil {
		return err
	}
	m := overlay.NewMap(v, overlay.Window{X: x, Y: y, Width: r.Width, Height: r.Height})
	bytes, points, starts := toJS(m.Values), floatsToJS(m.Lines.Points), wordsToJS(m.Lines.Starts)
	post(map[string]any{
		"type": "view", "request": message.Get("request"), "x": m.X, "y": m.Y, "width": m.Width, "height": m.Height,
		"pixelsWide": m.PixelsWide, "pixelsHigh": m.PixelsHigh, "values": bytes, "points": points, "starts": starts,
	}, bytes, points, starts)
	return nil
}

// postPNG answers "png".
func (s *session) postPNG(message js.Value) error {
	r, err := s.result(message)
	if err != nil {
		return err
	}
	v, err := values(r, message)
	if err != nil {
		return err
	}
	if message.Get("what").String() == "mask" {
		mask := make([]float32, len(v))
		for i, p := range v {
			if p > 0.5 {
				mask[i] = 1
			}
		}
		v = mask
	}
	png, err := imageio.EncodeProbability(r.Width, r.Height, v)
	if err != nil {
		return err
	}
	bytes := toJS(png)
	post(map[string]any{"type": "png", "request": message.Get("request"), "bytes": bytes}, bytes)
	return nil
}
