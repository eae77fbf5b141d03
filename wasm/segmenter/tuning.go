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
	memory
	results map[string]*tune.Result // of the engine's kernels, by key, as far as they have been measured
	failed  bool                    // the GPU did not let itself be measured: not tried again
}

// memory is what the browser remembers of an adapter.
type memory struct {
	Choices    tune.Choices   `json:"choices"`              // found in this session too
	Unfinished map[string]int `json:"unfinished,omitempty"` // how often measuring a kernel, or wholeNetwork, was begun and never came to an end
}

// mostUnfinished: what ends a GPU's process, or the whole browser's, is not tried again and again. (A closed page does not end it either.)
const mostUnfinished = 2

// wholeNetwork stands for the network with what was found, beside the keys of kernels.
const wholeNetwork = "network"

// recallTime bounds the wait for what the browser remembers.
const recallTime = 2 * time.Second

// tuningRounds are the runs of the network by which what was found is judged as a whole.
const tuningRounds = 3

// remembered is the device with the kernels that were found to be the fastest on it.
func (s *session) remembered(ctx context.Context, d gpu.Device) gpu.Device {
	if wish("tune") == "off" {
		return d
	}
	if s.tuning.Choices == nil {
		s.tuning.memory = recall(ctx, d.Info())
	}
	if len(s.tuning.Choices) == 0 {
		return d
	}
	return tune.With(d, s.tuning.Choices)
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
		if _, known := s.tuning.Choices[a.Key]; known {
			continue
		}
		if s.tuning.results[a.Key] == nil {
			result := tune.Result{Alternatives: a} // what is taken untuned
			if err := s.attempt(ctx, a.Key, func() error {
				measured, err := tune.Measure(ctx, s.dev, []tensor.Alternatives{a}, func(int) {})
				if err == nil {
					result = measured[0]
				}
				return err
			}); err != nil {
				return false, 0, err
			}
			if s.tuning.results == nil {
				s.tuning.results = map[string]*tune.Result{}
			}
			s.tuning.results[a.Key] = &result
		}
		results = append(results, *s.tuning.results[a.Key])
	}
	if len(results) == 0 {
		return true, 0, nil
	}
	chosen := tune.Join(s.tuning.Choices, tune.Chosen(results))
	for _, r := range results {
		if r.Chosen > 0 {
			changed++
		}
	}
	if changed > 0 {
		faster := false
		if err := s.attempt(ctx, wholeNetwork, func() (err error) {
			faster, err = s.adoptFaster(ctx, chosen)
			return err
		}); err != nil {
			return false, 0, err
		}
		if !faster { // what is taken untuned stays, and is remembered, so that it is not measured again
			changed = 0
			for i := range results {
				results[i].Chosen = 0
			}
			chosen = tune.Join(s.tuning.Choices, tune.Chosen(results))
		}
	}
	s.tuning.Choices, s.tuning.results = chosen, nil
	s.dev = tune.With(s.dev, chosen)
	s.remember(ctx)
	return true, changed, nil
}

// attempt does work that may take the GPU with it, unless it never came to an end too often.
func (s *session) attempt(ctx context.Context, what string, work func() error) error {
	if s.tuning.Unfinished[what] >= mostUnfinished {
		return nil
	}
	if s.tuning.Unfinished == nil {
		s.tuning.Unfinished = map[string]int{}
	}
	s.tuning.Unfinished[what]++
	s.remember(ctx)
	err := work()
	if err == nil || ctx.Err() != nil {
		delete(s.tuning.Unfinished, what) // in the browser with what is remembered next
	}
	return err
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
func recall(ctx context.Context, info gpu.Info) memory {
	ctx, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	m := memory{}
	text, err := await(ctx, js.Global().Get("mrprismMemory").Call("get", tuningKey(info)))
	if err == nil && text.Type() == js.TypeString && json.Unmarshal([]byte(text.String()), &m) != nil {
		m = memory{} // what is damaged is measured again
	}
	if m.Choices == nil {
		m.Choices = tune.Choices{}
	}
	return m
}

// remember keeps what is known in the browser. One that keeps nothing measures again at the next visit.
func (s *session) remember(ctx context.Context) {
	if text, err := json.Marshal(s.tuning.memory); err == nil {
		_, _ = await(ctx, js.Global().Get("mrprismMemory").Call("put", tuningKey(s.dev.Info()), string(text)))
	}
}

// tuningKey names an adapter with its driver: in the browser, the browser's version.
func tuningKey(info gpu.Info) string { return fmt.Sprintf("tuned %s, %s", info.Adapter, info.Driver) }
