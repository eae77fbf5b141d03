package main

import (
	"context"
	"fmt"

	"mrprism/cmd/bench/measure"
	"mrprism/model"
)

// The compared parts: the whole network with four passes, and its encoder alone, named as in
// "export -passes".
const (
	wholeNetwork = "all"
	encoderAlone = "encoder"
)

// job asks a peer to compute a part once.
type job struct {
	Part   string `json:"part"`
	Values bool   `json:"values"` // also return the results
}

// answer is the answer of a peer. The time includes reading all results, which have their channels
// first, as in ONNX.
type answer struct {
	MS     float64              `json:"ms"`
	Values map[string][]float32 `json:"values,omitempty"` // by the names of the ONNX outputs
	Error  string               `json:"error,omitempty"`
}

// ours is our network as a peer.
type ours struct{ *measure.Network }

// ask implements peer.
func (u ours) ask(ctx context.Context, j job) (a answer) {
	run := u.runNetwork
	if j.Part == encoderAlone {
		run = u.runEncoder
	}
	var made map[string]model.Map
	var err error
	a.MS, err = measure.Timed(ctx, func(ctx context.Context) (err error) {
		made, err = run(ctx)
		return err
	})
	if err != nil {
		return answer{Error: err.Error()}
	}
	if j.Values {
		a.Values = map[string][]float32{}
		for name, m := range made {
			a.Values[name] = channelsFirst(m.Values, m.Channels)
		}
	}
	return a
}

func (u ours) runEncoder(ctx context.Context) (map[string]model.Map, error) {
	if err := u.Encode(ctx, u.Image); err != nil {
		return nil, err
	}
	return u.Encoded(ctx)
}

func (u ours) runNetwork(ctx context.Context) (map[string]model.Map, error) {
	if err := u.Encode(ctx, u.Image); err != nil {
		return nil, err
	}
	made := map[string]model.Map{}
	for pass := range measure.Passes {
		y, err := u.Recur(ctx)
		if err != nil {
			return nil, err
		}
		made[fmt.Sprintf("rec%d", pass)] = model.Map{Channels: u.Classes, Values: y}
	}
	raters, err := u.RaterLabels(ctx)
	made["raters"] = model.Map{Channels: u.Raters * u.Classes, Values: raters}
	return made, err
}

// channelsFirst turns (…, C) into (C, …).
func channelsFirst(values []float32, channels int) []float32 {
	pixels := len(values) / channels
	out := make([]float32, len(values))
	for i, v := range values {
		out[i%channels*pixels+i/channels] = v
	}
	return out
}
