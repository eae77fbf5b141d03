//go:build js

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"strings"
	"syscall/js"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/segment"
	"mrprism/internal/tensor"
	"mrprism/internal/tune"
)

// tuning is what this session knows of the fastest kernels on its GPU. They are measured while nothing else is to be done, and remembered in the
// browser for this adapter; ?tune=off leaves all that aside, ?tune=on measures on emulated GPUs too, which takes long there, and ?tune=KERNEL
// there and elsewhere only the kernels whose names begin so.
type tuning struct {
	memory
	key      string          // in the browser's memory
	finished map[string]bool // what was begun in this session and came to an end
	failed   bool            // the GPU did not let itself be measured: not tried again
}

// memory is what the browser remembers of an adapter.
type memory struct {
	Choices    tune.Choices   `json:"choices"`              // the fastest kernels
	Measured   tune.Choices   `json:"measured,omitempty"`   // those by themselves, of networks that have not been judged as a whole
	Unfinished map[string]int `json:"unfinished,omitempty"` // how often measuring a kernel or a network was begun and never came to an end
}

// mostUnfinished: what ends a GPU's process, or the whole browser's, is not tried again and again. (A closed page does not end it either.)
const mostUnfinished = 2

const (
	answerTime   = 2 * time.Second // for a GPU to finish what it was given
	tuningRounds = 3               // runs of the network by which what was found is judged as a whole
)

// remembered is the device with the kernels that were found to be the fastest on it.
func (s *session) remembered(d gpu.Device) gpu.Device {
	if wish("tune") == "off" || d.Info().InGo() {
		return d
	}
	if key := tuningKey(d.Info()); s.tuning.key != key {
		s.tuning = tuning{key: key, finished: map[string]bool{}}
		s.tuning.memory, _ = recall(key)
	}
	if len(s.tuning.Choices) == 0 {
		return d
	}
	return tune.With(d, s.tuning.Choices)
}

// forgetTuned goes back to the kernels that are chosen by the kind of GPU, for good, where others ran: what was measured there is not measured again.
// It reports whether others ran.
func (s *session) forgetTuned() bool {
	ran := s.tuning.Choices
	if len(ran) == 0 || wish("tune") == "off" {
		return false
	}
	s.tuning.failed = true
	for key := range ran {
		delete(s.tuning.finished, key)
	}
	s.remember(func(m *memory) {
		for key := range ran {
			m.Unfinished[key] = mostUnfinished
		}
		m.Choices, m.Measured = tune.Choices{}, tune.Choices{}
	})
	return true
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
	return s.engine != nil && s.onGPU() && !s.tuning.failed && wish("tune") != "off" && (wish("tune") != noWish || !s.software())
}

// tunesKernel says whether a kernel of this name is to be measured.
func tunesKernel(key string) bool {
	only := wish("tune")
	return only == noWish || only == "on" || strings.HasPrefix(key, only)
}

// tune measures the kernels of the engine that were not yet, then the network with the fastest, which becomes the engine's unless it is slower.
func (s *session) tune(ctx context.Context) (done bool, changed int, err error) {
	found, untuned := tune.Choices{}, tune.Choices{}
	for _, a := range tune.Alternatives(s.engine.Plans()...) {
		if _, known := s.tuning.Choices[a.Key]; known || !tunesKernel(a.Key) {
			continue
		}
		untuned[a.Key] = a.Variants[0].Variant
		if found[a.Key], err = s.fastest(ctx, a); err != nil {
			return false, 0, err
		}
		if found[a.Key] != untuned[a.Key] {
			changed++
		}
	}
	if changed > 0 {
		network := fmt.Sprintf("network %s %s %08x", s.model.SHA256, s.precision(), checksum(found))
		if s.tuning.Unfinished[network] >= mostUnfinished {
			return true, 0, nil
		}
		faster := false
		if err := s.attempt(ctx, network, func() (err error) {
			faster, err = s.adoptFaster(ctx, tune.Join(s.tuning.Choices, found))
			return err
		}); err != nil {
			return false, 0, err
		}
		if !faster { // what is taken untuned stays, and is remembered, so that it is not measured again
			changed, found = 0, untuned
		}
	}
	if len(found) > 0 {
		s.remember(func(m *memory) {
			m.Choices = tune.Join(m.Choices, found)
			maps.DeleteFunc(m.Measured, func(key, _ string) bool { _, judged := found[key]; return judged })
		})
		s.dev = tune.With(s.dev, s.tuning.Choices)
	}
	return true, changed, nil
}

// fastest is the variant that is the fastest by itself; what is taken untuned where measuring it never came to an end.
func (s *session) fastest(ctx context.Context, a tensor.Alternatives) (string, error) {
	if variant, ok := s.tuning.Measured[a.Key]; ok {
		return variant, nil
	}
	chosen := 0
	if s.tuning.Unfinished[a.Key] < mostUnfinished {
		if err := s.attempt(ctx, a.Key, func() error {
			results, err := tune.Measure(ctx, s.dev, []tensor.Alternatives{a}, func(int) {})
			if err == nil {
				chosen = results[0].Chosen
			}
			return err
		}); err != nil {
			return "", err
		}
	}
	variant := a.Variants[chosen].Variant
	s.remember(func(m *memory) { m.Measured = tune.Join(m.Measured, tune.Choices{a.Key: variant}) })
	return variant, nil
}

// attempt does work that may take the GPU with it, and remembers if it does.
func (s *session) attempt(ctx context.Context, what string, work func() error) error {
	delete(s.tuning.finished, what)
	s.remember(func(m *memory) { m.Unfinished[what]++ })
	err := work()
	if err == nil || ctx.Err() != nil && s.answers() {
		s.tuning.finished[what] = true
		s.remember(func(m *memory) { delete(m.Unfinished, what) })
	}
	return err
}

// answers says whether the GPU has done what it was given, or does so soon.
func (s *session) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	return s.engine.Wait(ctx) == nil
}

func checksum(choices tune.Choices) uint32 {
	text, _ := json.Marshal(choices) // in the order of the keys
	return crc32.ChecksumIEEE(text)
}

// adoptFaster compiles the network with the choices and makes it the engine's if it is not slower. What is fast and wrong is an error: what proves
// weights that do not ship is what the engine so far computes.
func (s *session) adoptFaster(ctx context.Context, chosen tune.Choices) (faster bool, err error) {
	proof := s.model.Proof
	if proof == "" {
		if proof, err = s.engine.Proof(ctx); err != nil {
			return false, err
		}
	}
	engine, err := segment.New(ctx, tune.With(s.dev, chosen), s.model, s.precision())
	if err != nil {
		return false, err
	}
	run := func(e *segment.Engine) func(context.Context) error {
		return func(ctx context.Context) error { return e.Prove(ctx, proof) }
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

// recall reads what the browser remembers under a key. Without ok it cannot be had: it is not to be written over.
func recall(key string) (m memory, ok bool) {
	text, err := browserMemory{}.Get(key)
	if text != nil && json.Unmarshal(text, &m) != nil {
		m = memory{} // what is damaged is measured again
	}
	for _, choices := range []*tune.Choices{&m.Choices, &m.Measured} {
		if *choices == nil {
			*choices = tune.Choices{}
		}
	}
	if m.Unfinished == nil {
		m.Unfinished = map[string]int{}
	}
	return m, err == nil
}

// remember makes a change to what is known here and to what the browser remembers, to which other pages may have added meanwhile. One that keeps
// nothing measures again at the next visit.
func (s *session) remember(change func(*memory)) {
	change(&s.tuning.memory)
	there, ok := recall(s.tuning.key)
	if !ok {
		return
	}
	change(&there)
	maps.DeleteFunc(there.Unfinished, func(what string, _ int) bool { return s.tuning.finished[what] }) // also what could not be written then
	if text, err := json.Marshal(there); err == nil {
		_ = browserMemory{}.Put(s.tuning.key, text)
	}
}

// tuningKey names an adapter with its driver: in the browser, the browser's version.
func tuningKey(info gpu.Info) string { return fmt.Sprintf("tuned %s, %s", info.Adapter, info.Driver) }
