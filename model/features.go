package model

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"mrprism/shaders/tensor"
)

// encoded has the maps that the encoder hands to all recurrences, by the names of Encoded.
func (n *Network) encoded(f Features) map[string]*tensor.Tensor {
	made := map[string]*tensor.Tensor{"f0": f.F}
	for i, width := range n.ConP {
		e := f.E[4-i]
		made[fmt.Sprintf("merge%d", i+1)] = n.ConvShare(mergeName(i, "conv"), e, width, false)
		made[fmt.Sprintf("shortcut%d", i+1)] = n.ConvShare(mergeName(i, "shortcut"), e, width, true)
	}
	return made
}

// Map is a map of the network, channels last.
type Map struct {
	Channels int
	Values   []float32
}

// Encoded returns the maps of the last image that all recurrences share. "f0" is the bridge's map
// (S/64, S/64, ·). "merge1" and "shortcut1" at S/32 to "merge4" and "shortcut4" at S/4 are the
// shares of the encoder's maps in the merges of ConP's stages.
func (in *Inference) Encoded(ctx context.Context) (map[string]Map, error) {
	names := slices.Sorted(maps.Keys(in.encoded))
	tensors := make([]*tensor.Tensor, len(names))
	for i, name := range names {
		tensors[i] = in.encoded[name]
	}
	values, err := in.network.Read(ctx, tensors...)
	if err != nil {
		return nil, err
	}
	made := map[string]Map{}
	for i, name := range names {
		made[name] = Map{tensors[i].Dim(-1), values[i]}
	}
	return made, nil
}

// Features describes the last image by figures, whose number depends on the configuration alone:
// the mean of each channel of the bridge's map, and the deviation of each channel of the encoder's
// shares in the merges of ConP's three finer stages.
func (in *Inference) Features(ctx context.Context) ([]float32, error) {
	made := []*tensor.Tensor{in.encoded["f0"], in.encoded["merge2"], in.encoded["merge3"], in.encoded["merge4"]}
	values, err := in.network.Read(ctx, made...)
	if err != nil {
		return nil, err
	}
	var features []float32
	for i, x := range made {
		channels := x.Dim(-1)
		means, deviations := moments(values[i], channels)
		if i == 0 {
			features = append(features, means...)
		} else {
			features = append(features, deviations...)
		}
	}
	return features, nil
}

// moments are the mean and the deviation of each channel of a map (…, channels).
func moments(values []float32, channels int) (means, deviations []float32) {
	pixels := float64(len(values) / channels)
	sum, squares := make([]float64, channels), make([]float64, channels)
	for i, v := range values {
		sum[i%channels] += float64(v)
		squares[i%channels] += float64(v) * float64(v)
	}
	for c := range channels {
		mean := sum[c] / pixels
		means = append(means, float32(mean))
		deviations = append(deviations, float32(math.Sqrt(max(0, squares[c]/pixels-mean*mean))))
	}
	return means, deviations
}
