//go:build js

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall/js"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/segment"
	"mrprism/internal/tensor"
	"mrprism/internal/tune"
)

// tuning is what this session knows of the fastest kernels on its GPU. They are measured while nothing else is to be done, and remembered in the
// browser for this adapter; ?tune=off leaves all that aside, ?tune=on measures on emulated GPUs too, which takes long there.
type tuning struct {
	choices tune.Choices            // remembered, and those found since
	results map[string]*tune.Result // of the engine's kernels, by key, as far as they have been measured
	failed  bool                    // the GPU did not let itself be measured: not tried again
}

// recallTime bounds the wait for what the browser remembers.
const recallTime = 2 * time.Second

// tuningRounds are the runs of the network by which what was found is judged as a whole.
const tuningRounds = 3

// remembered is the device with the kernels that were found to be the fastest on it.
func (s *session) remembered(ctx context.Context, d gpu.Device) gpu.Device {
	if wish("tune") == "off" {
		return d
	}
	if s.tuning.choices == nil {
		s.tuning.choices = recall(ctx, d.Info())
	}
	if len(s.tuning.choices) == 0 {
		return d
	}
	return tune.With(d, s.tuning.choices)
}

// tuneMessage answers "tune": it measures kernels until all are, or until another message comes. done is false where there is more to do.
func (s *session) tuneMessage(message js.Value) error {
	done, changed := s.making == nil || s.making.model == nil, 0 // else there will be an engine to measure
	if s.tunes() {
		ctx, end := s.whileIdle()
		defer end()
		var err error
		done, changed, err = s.tune(ctx)
		switch {
		case ctx.Err() != nil:
			done = false
		case err != nil:
			s.tuning.failed = true
			return err
		}
	}
	post(map[string]any{"type": "tune", "request": message.Get("request"), "done": done, "changed": changed})
	return nil
}

// tunes says whether this session's GPU is to be measured.
func (s *session) tunes() bool {
	wanted := wish("tune")
	return s.engine != nil && s.onGPU() && !s.tuning.failed && wanted != "off" && (wanted == "on" || !s.software())
}

// tune measures the kernels of the engine that were not yet, then the network with the fastest, which becomes the engine's unless it is slower.
func (s *session) tune(ctx context.Context) (done bool, changed int, err error) {
	var results []tune.Result
	for _, a := range tune.Alternatives(s.engine.Plans()...) {
		if _, known := s.tuning.choices[a.Key]; known {
			continue
		}
		if s.tuning.results[a.Key] == nil {
			measured, err := tune.Measure(ctx, s.dev, []tensor.Alternatives{a}, func(int) {})
			if err != nil {
				return false, 0, err
			}
			if s.tuning.results == nil {
				s.tuning.results = map[string]*tune.Result{}
			}
			s.tuning.results[a.Key] = &measured[0]
		}
		results = append(results, *s.tuning.results[a.Key])
	}
	if len(results) == 0 {
		return true, 0, nil
	}
	chosen := tune.Join(s.tuning.choices, tune.Chosen(results))
	for _, r := range results {
		if r.Chosen > 0 {
			changed++
		}
	}
	if changed > 0 {
		faster, err := s.adoptFaster(ctx, chosen)
		if err != nil {
			return false, 0, err
		}
		if !faster { // what is taken untuned stays, and is remembered, so that it is not measured again
			changed = 0
			for i := range results {
				results[i].Chosen = 0
			}
			chosen = tune.Join(s.tuning.choices, tune.Chosen(results))
		}
	}
	s.tuning.choices, s.tuning.results = chosen, nil
	s.dev = tune.With(s.dev, chosen)
	return true, changed, remember(ctx, s.dev.Info(), chosen)
}

// adoptFaster compiles the network with the choices and makes it the engine's if it is not slower.
func (s *session) adoptFaster(ctx context.Context, chosen tune.Choices) (faster bool, err error) {
	engine, err := segment.New(ctx, tune.With(s.dev, chosen), s.model, s.precision())
	if err != nil {
		return false, err
	}
	run := func(e *segment.Engine) func(context.Context) error {
		return func(ctx context.Context) error { return e.Prove(ctx, s.model.Proof) } // what is fast and wrong is an error
	}
	before, after, err := tune.InTurn(ctx, run(s.engine), run(engine), tuningRounds, func(int) {})
	if err != nil || !tune.Faster(before, after) {
		engine.Close()
		return false, err
	}
	s.engine.Close()
	s.engine = engine
	return true, nil
}

// recall reads what the browser remembers for an adapter; nothing where that cannot be had or read.
func recall(ctx context.Context, info gpu.Info) tune.Choices {
	ctx, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	choices := tune.Choices{}
	text, err := await(ctx, js.Global().Get("mrprismMemory").Call("get", tuningKey(info)))
	if err == nil && text.Type() == js.TypeString {
		_ = json.Unmarshal([]byte(text.String()), &choices) // what is damaged is measured again
	}
	return choices
}

// remember keeps choices in the browser. A browser that keeps nothing measures again at the next visit.
func remember(ctx context.Context, info gpu.Info, choices tune.Choices) error {
	text, err := json.Marshal(choices)
	if err == nil {
		_, _ = await(ctx, js.Global().Get("mrprismMemory").Call("put", tuningKey(info), string(text)))
	}
	return err
}

// tuningKey names an adapter with its driver: in the browser, the browser's version.
func tuningKey(info gpu.Info) string { return fmt.Sprintf("tuned %s, %s", info.Adapter, info.Driver) }
