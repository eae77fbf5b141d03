package main

import (
	"context"

	"mrprism/internal/app/segment"
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/model"
	"mrprism/weights"
)

// configuration is the configuration of the network. The model m is nil for random weights, whose
// ranges for int8 come from the picture.
func (o *options) configuration(ctx context.Context, d gpu.Device, m *weights.Model) (model.Config, error) {
	config, err := model.NewConfig(o.Config, o.Raters, o.Classes)
	if m != nil {
		config, err = segment.Configuration(&m.Metadata)
	}
	config.Precision = o.Precision
	switch {
	case err != nil || o.Precision != model.Int8:
	case m != nil:
		config.Ranges = m.Metadata.Ranges
	default:
		config.Ranges, err = o.ranges(ctx, d, config)
	}
	return config, err
}

// ranges are the ranges of layers with random weights.
func (o *options) ranges(ctx context.Context, d gpu.Device, config model.Config) (map[string]float32, error) {
	set := tensor.NewSet()
	defer set.Release()
	network, err := model.NewRanges(ctx, d, set, config, o.Side)
	if err != nil {
		return nil, err
	}
	defer network.Release()
	if err := fill(set, nil); err != nil {
		return nil, err
	}
	if err := network.Encode(ctx, picture(o.Side)); err != nil {
		return nil, err
	}
	if _, err = network.Recur(ctx); err != nil {
		return nil, err
	}
	return network.Seen(), nil
}
