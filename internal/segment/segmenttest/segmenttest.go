// Package segmenttest makes untrained weights files for the tests of programs that segment.
package segmenttest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// Untrained is a model with random parameters, of configuration tiny unless about names another.
// Its masks mean nothing. They are not empty, because the bias of the calibrated mask is that of
// structures as large as half the image, and have details to find (Detail).
func Untrained(about weights.Metadata) (*weights.File, error) {
	config, err := model.NewConfig(cmp.Or(about.Configuration, "tiny"), len(about.Raters), len(about.Classes))
	if err != nil {
		return nil, err
	}
	config.Levels = about.Labels == weights.LabelsAgreementLevels
	for range about.Classes {
		config.AreaPrior = append(config.AreaPrior, 0.5)
	}
	about.Configuration, about.Recipe, about.Layout = config.Name, "default", weights.LayoutHWIO
	about.Mean, about.Deviation = [3]float32{.5, .5, .5}, [3]float32{.25, .25, .25}
	metadata, err := about.Map()
	if err != nil {
		return nil, err
	}
	device := reference.Open()
	defer device.Close()
	set := model.Variables(config)
	Detail(set)
	if err := set.Allocate(context.Background(), device); err != nil {
		return nil, err
	}
	defer set.Release()
	if err := set.Initialise(about.Seed); err != nil {
		return nil, err
	}
	f := &weights.File{Metadata: metadata}
	variables := set.Variables(tensor.Parameter, tensor.Statistic)
	values, err := set.Read(context.Background(), variables...)
	if err != nil {
		return nil, err
	}
	for i, v := range variables {
		f.Tensors = append(f.Tensors, weights.NewF32(v.Name, v.Shape, values[i]))
	}
	return f, nil
}

// Detail has each pixel of what enlarges begin on its own, where a fresh network repeats pixels.
func Detail(set *tensor.Set) {
	for _, v := range set.Variables(tensor.Parameter) {
		if strings.HasSuffix(v.Name, ".up.weight") || v.Name == "conp.head.weight" {
			std := math.Sqrt(2 / float64(v.Shape[2]))
			v.Initial = func(_ int, r *rand.Rand) float64 { return std * r.NormFloat64() }
		}
	}
}

// Encode returns the bytes of a file, quantized like the models that ship, and sealed.
func Encode(f *weights.File) ([]byte, error) {
	quantized, err := weights.Quantize(f)
	if err != nil {
		return nil, fmt.Errorf("quantize: %w", err)
	}
	quantized.Seal()
	return quantized.Encode()
}

// Fundus describes a model of disc and cup with four agreement levels that searches whole
// photographs.
func Fundus() weights.Metadata {
	return weights.Metadata{
		Name: "untrained-fundus", Title: "Untrained", Classes: []string{"disc", "cup"}, Anchor: "disc", Side: 64, Seed: 1,
		Raters: []string{"atleast1", "atleast2", "atleast3", "atleast4"}, Labels: weights.LabelsAgreementLevels,
	}
}

// Raters describes a model of one structure and three named raters.
func Raters() weights.Metadata {
	return weights.Metadata{
		Name: "untrained-raters", Title: "Untrained", Classes: []string{"brain"}, Side: 64, Seed: 1,
		Raters: []string{"ann", "bob", "eve"}, Labels: weights.LabelsRaters,
	}
}
