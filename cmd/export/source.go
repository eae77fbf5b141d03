package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"mrprism/internal/command/computing"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	"mrprism/weights/format/onnx"
)

// source is the network to export: its configuration, its variables on a device, and its metadata.
type source struct {
	config model.Config
	device gpu.Device // the reference
	set    *tensor.Set
	about  weights.Metadata
	sha256 string // of the weights file, hex; empty for random weights
}

// newSource makes a source whose variables have no values yet.
func newSource(ctx context.Context, config model.Config, about weights.Metadata) (*source, error) {
	d, err := device.Open(ctx, device.Reference, device.Options{})
	if err != nil {
		return nil, err
	}
	s := &source{config: config, device: d, set: model.Variables(config), about: about}
	if err := s.set.Allocate(ctx, d); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) close() {
	s.set.Release()
	_ = s.device.Close() // everything has been read
}

// variables are the parameters and statistics of the network.
func (s *source) variables() []*tensor.Variable {
	return s.set.Variables(tensor.Parameter, tensor.Statistic)
}

// fromWeights opens a shipped model or a file, or makes random weights. Int8 weights become
// float32.
func fromWeights(ctx context.Context, name string) (*source, error) {
	if config, ok := strings.CutPrefix(name, "random-"); ok {
		if s, err := random(ctx, config, 4, 2, 1); err == nil {
			return s, nil
		} else if filepath.Ext(name) == "" {
			return nil, fmt.Errorf("%s: choose random-compact, -mobile, -paper or -tiny: %w", name, err)
		}
	}
	m, err := computing.Weights(name)
	if err != nil {
		return nil, err
	}
	about := m.Metadata
	config, err := segment.Configuration(&about)
	if err != nil {
		return nil, err
	}
	s, err := newSource(ctx, config, about)
	if err != nil {
		return nil, err
	}
	s.sha256 = m.SHA256
	if err := s.fill(m.File); err != nil {
		s.close()
		return nil, fmt.Errorf("weights %s, configuration %s with %d raters and %d classes: %w", about.Name, about.Configuration, len(about.Raters), len(about.Classes), err)
	}
	return s, nil
}

// fill writes the values of a file, which has to have exactly the network's variables.
func (s *source) fill(file *weights.File) error {
	if err := file.Match(segment.Specs(s.variables())); err != nil {
		return err
	}
	floats, err := weights.Dequantize(file)
	if err != nil {
		return err
	}
	for _, v := range s.variables() {
		values, err := floats.Tensor(v.Name).Float32()
		if err != nil {
			return err
		}
		if err := s.set.Write(v, values); err != nil {
			return err
		}
	}
	return nil
}

// random makes the network that training would start from.
func random(ctx context.Context, name string, raters, classes int, seed uint64) (*source, error) {
	config, err := model.NewConfig(name, raters, classes)
	if err != nil {
		return nil, err
	}
	about := weights.Metadata{
		Name: "random-" + name, Title: "Random weights", Configuration: name, Side: defaultSide, Labels: weights.LabelsRaters, Seed: seed,
	}
	for c := range 3 { // Normalise maps a pixel value v to (v − mean)/deviation
		zero, one := weights.Normalise(0), weights.Normalise(1)
		about.Deviation[c] = 1 / (one - zero)
		about.Mean[c] = -zero * about.Deviation[c]
	}
	for i := range classes {
		about.Classes = append(about.Classes, fmt.Sprintf("class%d", i+1))
	}
	for i := range raters {
		about.Raters = append(about.Raters, fmt.Sprintf("rater%d", i+1))
	}
	s, err := newSource(ctx, config, about)
	if err != nil {
		return nil, err
	}
	if err := s.set.Initialise(seed); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// network appends the network of package model to an ONNX graph: inference in a number of passes,
// or the encoder alone if there are none.
func (r *request) network(ctx context.Context, g *onnx.Graph, s *source, passes int) error {
	u := model.UnrollEncoder(s.config, s.set, r.side)
	if passes > 0 {
		u = model.Unroll(s.config, s.set, r.side, passes, segment.LearnedHeads(&s.about))
	}
	p := newPrinter(g)
	shaders.Portable(u.Graph)
	outputs, err := p.print(ctx, s.device, s.set, u)
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
