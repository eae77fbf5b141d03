package main

import (
	"context"

	"mrprism/internal/compute/gpu/device"
	"mrprism/internal/compute/tensor"
	"mrprism/internal/format/onnx"
	"mrprism/model"
	"mrprism/shaders"
)

// network appends the network of package model to an ONNX graph: inference in a number of passes,
// or the encoder alone if there are none.
func (r *request) network(ctx context.Context, g *onnx.Graph, s *source, passes int, heads bool) error {
	d, err := device.Open(ctx, "reference", device.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	set := model.Variables(s.config)
	defer set.Release()
	if err := set.Allocate(ctx, d); err != nil {
		return err
	}
	for name, p := range s.values {
		if err := set.Write(set.Lookup(name), p.values); err != nil {
			return err
		}
	}
	u := model.UnrollEncoder(s.config, set, r.side)
	if passes > 0 {
		u = model.Unroll(s.config, set, r.side, passes, heads)
	}
	p := newPrinter(g, r.attention == attentionORT)
	shaders.Portable(u.Graph, !p.ownAttention)
	outputs, err := p.print(ctx, d, set, u)
	if err != nil {
		return err
	}
	for i, y := range outputs {
		if passes > 0 {
			y = nest(g, s.config, u.Outputs[i].Tensor, y)
		}
		g.Output(u.Outputs[i].Name, y)
	}
	return nil
}

// nest is model.Config.Nest of probabilities x, of which y is the plane. The result is (1, K, H,
// W), or (1, M, K, H, W) of the raters' maps.
func nest(g *onnx.Graph, c model.Config, x *tensor.Tensor, y *onnx.Value) *onnx.Value {
	axis := 1
	if len(x.Shape()) == 5 {
		y, axis = g.Reshape(y, 1, c.Raters, c.Classes, y.Dim(2), y.Dim(3)), 2
	}
	if !c.Independent {
		y = inside(g, y, axis)
	}
	if axis == 2 && c.Levels {
		y = inside(g, y, 1)
	}
	return y
}

// inside makes each map, along an axis, lie inside the map before: cup = min(cup, disc).
func inside(g *onnx.Graph, x *onnx.Value, axis int) *onnx.Value {
	if x.Dim(axis) == 1 {
		return x
	}
	maps := g.Split(x, axis)
	for i := 1; i < len(maps); i++ {
		maps[i] = g.Min(maps[i-1], maps[i])
	}
	return g.Concat(axis, maps...)
}
