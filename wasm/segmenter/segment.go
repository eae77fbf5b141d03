//go:build js

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall/js"
	"time"

	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/wasm/overlay"
)

// longestShown bounds the sides of the picture given to the stage: every WebGL2 device has textures of this size.
const longestShown = 4096

// progressEvery is the least time between two progress messages of one stage.
const progressEvery = 50 * time.Millisecond

// segment answers "segment": image (once it is decoded), progress, and the result.
func (s *session) segment(message js.Value) error {
	ctx, end := s.begin(message.Get("request").Int())
	defer end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	start := time.Now()
	tell := s.progress(message)
	name := message.Get("name").String()
	img, err := s.picture(message, name, tell)
	if err != nil {
		return err
	}
	model := message.Get("model").String()
	s.returnToGPU(ctx, model)
	if err := s.useModel(ctx, model, tell); err != nil {
		return err
	}
	options := segment.Options{
		Recurrences: message.Get("recurrences").Int(), ROI: message.Get("roi").String(),
		RaterWeights: floatsOf(message.Get("raterWeights")), Progress: tell,
	}
	res, err := s.run(ctx, img, options, tell)
	for again := false; err != nil && s.recover(ctx, err, again); again = true { // at most: the GPU again, then the processor
		res, err = s.run(ctx, img, options, tell)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return s.postResult(message, res, time.Since(start))
}

// run segments with the engine, or with the processor while the GPU's is being made.
func (s *session) run(ctx context.Context, img *imageio.Image, options segment.Options, tell func(string, int, int)) (*segment.Result, error) {
	if res, ok, err := s.bridged(ctx, img, options); ok {
		return res, err
	}
	if err := s.build(ctx, tell); err != nil {
		return nil, err
	}
	return s.engine.Segment(ctx, img, options)
}

// prepare answers "prepare", once the engine is made or another message is there; what is being made goes on. What the device cannot do now is
// left to be met when it is asked to segment.
func (s *session) prepare(message js.Value) error {
	ctx, end := s.begin(message.Get("request").Int())
	defer end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.useModel(ctx, message.Get("model").String(), s.progress(message)); err != nil {
		return err
	}
	idle, over := s.whileIdle()
	defer over()
	if s.make(); s.making != nil {
		select {
		case <-s.making.done:
		case <-idle.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	post(map[string]any{"type": "prepare", "request": message.Get("request")})
	return nil
}

// picture decodes the message's image, or finds the one decoded before.
func (s *session) picture(message js.Value, name string, tell func(string, int, int)) (*imageio.Image, error) {
	key := message.Get("key").Int()
	for _, p := range s.pictures {
		if p.key == key {
			s.postImage(message, p.image)
			return p.image, nil
		}
	}
	blob := message.Get("blob")
	if blob.IsNull() || blob.IsUndefined() {
		return nil, fault{Code: "image", Message: name + " is no longer in memory.", Next: "Open it again."}
	}
	tell("decode", 0, 0)
	img, err := imageio.Decode(name, bytesOf(js.Global().Get("Uint8Array").New(blob)))
	if err != nil {
		return nil, err
	}
	s.pictures = append(s.pictures, picture{key: key, image: img})
	if len(s.pictures) > keptPictures {
		s.pictures = append([]picture(nil), s.pictures[1:]...)
	}
	s.postImage(message, img)
	return img, nil
}

// postImage gives the page the picture as decoded here, so that what is seen is what is computed on.
func (s *session) postImage(message js.Value, img *imageio.Image) {
	if !message.Get("wantImage").Bool() {
		return
	}
	rgba, wide, high := overlay.Picture(img.Pix, img.W, img.H, longestShown)
	factor := max(1, (max(img.W, img.H)+longestShown-1)/longestShown)
	pixels := toJS(rgba)
	post(map[string]any{"type": "image", "request": message.Get("request"), "width": img.W, "height": img.H, "pixelsWide": wide,
		"pixelsHigh": high, "drawnWidth": wide * factor, "drawnHeight": high * factor, "rgba": pixels}, pixels)
}

// postResult keeps the result for later questions about its maps and describes it to the page.
func (s *session) postResult(message js.Value, res *segment.Result, took time.Duration) error {
	figures, err := json.Marshal(map[string]any{"measurements": res.Measurements, "doubts": append([]segment.Doubt{}, res.Doubts...), "doubt": res.Doubt})
	if err != nil {
		return err
	}
	id := message.Get("request").Int()
	s.results = append(s.results, result{id: id, res: res})
	if len(s.results) > keptResults {
		s.results = append([]result(nil), s.results[1:]...)
	}
	timings := map[string]any{}
	for stage, ms := range res.Timings {
		timings[stage] = ms
	}
	timings["network"] = timings["total"] // what the engine measured; in all, as the user waited:
	timings["total"] = float64(took.Microseconds()) / 1000
	parsed := js.Global().Get("JSON").Call("parse", string(figures))
	post(map[string]any{
		"type": "result", "request": id, "id": id, "width": res.Width, "height": res.Height,
		"classes": list(res.Classes), "raters": list(res.Raters), "labels": res.Labels, "steered": res.Steered, "model": s.model.Name(), "title": s.model.Label(),
		"roi":         map[string]any{"x": res.ROI.X, "y": res.ROI.Y, "side": res.ROI.Side, "whole": res.ROI == imageio.Letterbox(res.Width, res.Height)},
		"recurrences": res.Recurrences, "adapter": res.Adapter, "why": res.Why, "precision": string(res.Precision), "found": res.Found, "doubts": parsed.Get("doubts"), "doubt": parsed.Get("doubt"), "sha256": s.model.SHA256, "shipped": s.model.Shipped, "timings": timings,
		"measurements": parsed.Get("measurements"),
	})
	return nil
}

// progress posts what the engine reports, not more often than the page can show.
func (s *session) progress(message js.Value) func(stage string, done, total int) {
	request := message.Get("request")
	last, lastStage := time.Time{}, ""
	return func(stage string, done, total int) {
		if stage == lastStage && done < total && time.Since(last) < progressEvery {
			return
		}
		last, lastStage = time.Now(), stage
		post(map[string]any{"type": "progress", "request": request, "stage": stage, "done": done, "total": total})
	}
}
