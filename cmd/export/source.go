package main

import (
	"context"
	"fmt"

	"mrprism/internal/app/command"
	"mrprism/internal/app/segment"
	"mrprism/internal/compute/gpu/device"
	"mrprism/internal/compute/tensor"
	"mrprism/model"
	"mrprism/weights"
)

// source is the network to export: its configuration, its variables and its metadata.
type source struct {
	config model.Config
	values parameters
	about  weights.Metadata
	sha256 string // of the weights file, hex; empty for random weights
}

// parameters are the network's variables by name.
type parameters map[string]parameter

type parameter struct {
	shape  []int
	values []float32
}

// fromWeights opens a shipped model or a file. Int8 weights become float32.
func fromWeights(nameOrFile string) (*source, error) {
	m, err := command.Weights(nameOrFile)
	if err != nil {
		return nil, err
	}
	about := m.Metadata
	config, err := segment.Configuration(&about)
	if err != nil {
		return nil, err
	}
	set := model.Variables(config)
	variables := set.Variables(tensor.Parameter, tensor.Statistic)
	var expected []weights.Spec
	for _, v := range variables {
		expected = append(expected, weights.Spec{Name: v.Name, Shape: v.Shape})
	}
	if err := m.File.Match(expected); err != nil {
		return nil, fmt.Errorf("weights %s, configuration %s with %d raters and %d classes: %w", about.Name, about.Configuration, len(about.Raters), len(about.Classes), err)
	}
	file, err := weights.Dequantize(m.File)
	if err != nil {
		return nil, fmt.Errorf("weights %s: %w", about.Name, err)
	}
	s := &source{config: config, values: parameters{}, about: about, sha256: m.SHA256}
	for _, v := range variables {
		values, err := file.Tensor(v.Name).Float32()
		if err != nil {
			return nil, fmt.Errorf("weights %s: %w", about.Name, err)
		}
		s.values[v.Name] = parameter{v.Shape, values}
	}
	return s, nil
}

// source makes the network that training would start from.
func (r random) source(ctx context.Context) (*source, error) {
	config, err := model.NewConfig(r.config, r.raters, r.classes)
	if err != nil {
		return nil, err
	}
	d, err := device.Open(ctx, "reference", device.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	set := model.Variables(config)
	if err := set.Allocate(ctx, d); err != nil {
		return nil, err
	}
	defer set.Release()
	if err := set.Initialise(r.seed); err != nil {
		return nil, err
	}
	variables := set.Variables(tensor.Parameter, tensor.Statistic)
	values, err := set.Read(ctx, variables...)
	if err != nil {
		return nil, err
	}
	s := &source{config: config, values: parameters{}, about: weights.Metadata{
		Name: "random-" + r.config, Title: "Random weights", Configuration: r.config, Side: defaultSide, Labels: weights.LabelsRaters, Seed: r.seed,
	}}
	for c := range 3 { // Normalise maps a pixel value v to (v − mean)/deviation
		zero, one := model.Normalise(0), model.Normalise(1)
		s.about.Deviation[c] = 1 / (one - zero)
		s.about.Mean[c] = -zero * s.about.Deviation[c]
	}
	for i := range r.classes {
		s.about.Classes = append(s.about.Classes, fmt.Sprintf("class%d", i+1))
	}
	for i := range r.raters {
		s.about.Raters = append(s.about.Raters, fmt.Sprintf("rater%d", i+1))
	}
	for i, v := range variables {
		s.values[v.Name] = parameter{v.Shape, values[i]}
	}
	return s, nil
}
