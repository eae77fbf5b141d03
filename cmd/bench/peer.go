package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
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

// ours is our network on a device.
type ours struct {
	network *model.Inference
	set     *tensor.Set
	image   []float32 // (S, S, 3)
}

// picture is the normalised image (S, S, 3) for all peers.
func picture(side int) []float32 {
	return noise(side*side*3, func(r *rand.Rand) float32 { return weights.Normalise(r.Float32()) })
}

// newOurs compiles the network without its weights.
func newOurs(ctx context.Context, d gpu.Device, config model.Config, side int) (*ours, error) {
	u := &ours{set: tensor.NewSet(), image: picture(side)}
	var err error
	if u.network, err = model.NewInference(ctx, d, u.set, config, side); err != nil {
		u.set.Release()
		return nil, err
	}
	return u, nil
}

// newPeer compiles the network with its weights. If m is nil, they are the random ones of "export
// -config".
func newPeer(ctx context.Context, d gpu.Device, o options, m *weights.Model) (*ours, error) {
	config, err := o.configuration(ctx, d, m)
	if err != nil {
		return nil, err
	}
	u, err := newOurs(ctx, d, config, o.Side)
	if err != nil {
		return nil, err
	}
	if err := fill(u.set, m); err != nil {
		u.release()
		return nil, err
	}
	return u, nil
}

func (u *ours) release() {
	u.network.Release()
	u.set.Release()
}

// ask implements peer.
func (u *ours) ask(ctx context.Context, j job) (a answer) {
	run := u.runNetwork
	if j.Part == encoderAlone {
		run = u.runEncoder
	}
	start := time.Now()
	made, err := run(ctx)
	a.MS = since(start)
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

func (u *ours) runEncoder(ctx context.Context) (map[string]model.Map, error) {
	if err := u.network.Encode(ctx, u.image); err != nil {
		return nil, err
	}
	return u.network.Encoded(ctx)
}

func (u *ours) runNetwork(ctx context.Context) (map[string]model.Map, error) {
	if err := u.network.Encode(ctx, u.image); err != nil {
		return nil, err
	}
	made := map[string]model.Map{}
	for pass := range passes {
		y, err := u.network.Recur(ctx)
		if err != nil {
			return nil, err
		}
		made[fmt.Sprintf("rec%d", pass)] = model.Map{Channels: u.network.Classes, Values: y}
	}
	raters, err := u.network.RaterLabels(ctx)
	made["raters"] = model.Map{Channels: u.network.Raters * u.network.Classes, Values: raters}
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
