// Package segment is the whole way from a photograph to its masks: find the region, run the encoder and the recurrences on it, bring the
// maps back to the photograph and measure them. The page's worker and cmd/segment both are this package with another surface, so that they
// give the same masks.
package segment

import (
	"cmp"
	"context"
	"fmt"

	"mrprism/internal/gpu"
	"mrprism/internal/imageio"
	"mrprism/internal/roi"
	"mrprism/internal/tensor"
	"mrprism/model"
	"mrprism/weights"
)

// Engine is a model ready to run on a device. One goroutine at a time may use it.
type Engine struct {
	device    gpu.Device
	about     weights.Metadata
	steered   bool // the mask follows raters' weights
	precision model.Precision
	network   *model.Inference
	set       *tensor.Set
	fence     gpu.Buffer // one word, read where the device has to have finished
	view      *view      // what the encoder has last seen; nil where its features are not to be used
}

// view is a region of an image as the encoder has seen it.
type view struct {
	image  *imageio.Image
	roi    string // as asked for
	square imageio.Square
	field  imageio.Square       // what is lit, where the model has an anchor, which is searched for there; otherwise the whole image
	places []roi.Candidate      // what the search found, the chosen one first
	looks  map[string][]float32 // the encoder's features of what was searched, "whole", and of the region, "close"
	took   map[string]float64   // ms, search and encode
	detail float64              // of the field: see trust.Quality
	found  bool                 // false: the search found nothing, and there is no region

	seen, mirrored bool // by the encoder, and which way round
}

// Warm compiles for the device what New will need for such a model in this precision, so that its weights may arrive meanwhile. Which layers
// have ranges, to compute in int8, is known with the weights; they have them for all that can.
func Warm(ctx context.Context, device gpu.Device, about weights.Entry, precision model.Precision) error {
	config, err := model.NewConfig(about.Configuration, about.Raters, about.Classes)
	if err != nil {
		return err
	}
	config.Precision, config.Ranges = precision, model.AnyRanges(config)
	set := tensor.NewSet()
	defer set.Release()
	network, err := model.NewInference(ctx, device, set, config, about.Side)
	if err != nil {
		return err
	}
	network.Release()
	return nil
}

// New checks that the weights are those of the configuration they name (the error wraps a *weights.MismatchError that lists every
// difference), compiles the network for the device at the side they were trained for, in the precision wanted, and writes them to it.
func New(ctx context.Context, device gpu.Device, m *weights.Model, precision model.Precision) (*Engine, error) {
	return newEngine(ctx, device, m, precision, model.NewInference)
}

// Configuration is the network of weights, with what is known about its maps.
func Configuration(about *weights.Metadata) (model.Config, error) {
	config, err := model.NewConfig(about.Configuration, len(about.Raters), len(about.Classes))
	if err != nil {
		return model.Config{}, fmt.Errorf("weights %s: %w", about.Name, err)
	}
	config.Independent, config.Levels = about.Independent, about.Labels == weights.LabelsAgreementLevels
	return config, nil
}

// compile is model.NewInference or model.NewRanges.
type compile func(ctx context.Context, device gpu.Device, set *tensor.Set, c model.Config, side int) (*model.Inference, error)

func newEngine(ctx context.Context, device gpu.Device, m *weights.Model, precision model.Precision, network compile) (*Engine, error) {
	about := m.Metadata
	config, err := Configuration(&about)
	if err != nil {
		return nil, err
	}
	config.Precision, config.Ranges = cmp.Or(precision, model.F32), about.Ranges
	if err := match(m.File, config); err != nil {
		return nil, fmt.Errorf("weights %s, configuration %s with %d raters and %d classes: %w", about.Name, about.Configuration, len(about.Raters), len(about.Classes), err)
	}
	e := &Engine{device: device, about: about, steered: config.Steered, precision: config.Precision, set: tensor.NewSet()}
	if err := e.prepare(ctx, config, m.File, network); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func match(file *weights.File, config model.Config) error {
	var expected []weights.Spec
	for _, v := range model.Variables(config).Variables(tensor.Parameter, tensor.Statistic) {
		expected = append(expected, weights.Spec{Name: v.Name, Shape: v.Shape})
	}
	return file.Match(expected)
}

func (e *Engine) prepare(ctx context.Context, config model.Config, file *weights.File, network compile) error {
	var err error
	if e.network, err = network(ctx, e.device, e.set, config, e.about.Side); err != nil {
		return fmt.Errorf("weights %s: %w", e.about.Name, err)
	}
	if err := load(ctx, e.device, e.set, file); err != nil {
		return fmt.Errorf("weights %s: %w", e.about.Name, err)
	}
	buffers, err := e.device.Allocate(ctx, []gpu.BufferSpec{{Label: "fence", Type: gpu.U32, Elements: 1}})
	if err != nil {
		return err
	}
	e.fence = buffers[0]
	return e.Wait(ctx) // so that a fault in the writing is told here
}

// Wait returns when the device has done everything submitted.
func (e *Engine) Wait(ctx context.Context) error {
	return e.device.Read(ctx, gpu.Range{Buffer: e.fence, Dst: make([]byte, 4)})
}

// Metadata says what the weights say about themselves.
func (e *Engine) Metadata() weights.Metadata { return e.about }

// Adapter says what computes.
func (e *Engine) Adapter() string { return e.device.Info().String() }

// Bytes is the memory on the device.
func (e *Engine) Bytes() int64 { return e.network.Bytes() }

// Close returns the memory on the device. The device is the caller's.
func (e *Engine) Close() {
	if e.network != nil {
		e.network.Release()
	}
	if e.fence != nil {
		e.fence.Release()
	}
	e.set.Release()
	e.view = nil
}
